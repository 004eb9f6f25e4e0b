// Package linodeapi implements the platform of package instances over the API client of
// module linode. It translates requests, answers and refusals, and decides nothing.
//
// The whole program should use one client, because it applies the rate limits of its
// token. The error of a refused request has the field of instances.Spec at fault if the
// API names one, except the instance type: claims.FieldInstanceType. Refusals about the
// size of the account or about capacity have kinds of their own (failure.go).
package linodeapi
