// Package linodeapi is the platform of package instances: Linodes, through the API
// client of module linode. It translates and decides nothing: requests, answers,
// and what a refusal means.
//
// The client should be the one that the whole program uses, because it keeps the
// rate limits of its token. A request that the API refuses names the field of
// instances.Spec at fault where the API names one; a refusal about the size of
// the account or about capacity has a kind of its own (failure.go).
package linodeapi
