// Package discovery has the code that all modes share for finding their cluster at start: the check of the token's rights, and the line for
// the user about an error of the API.
//
// Its errors are *options.Error. It finds out the token's rights without a write: it reads one instance, and compares the scopes that the
// API reports with every answer. It also reads whether the token's user is restricted to roles. Only an administrator of the account can
// read which roles a user has. So a missing role shows only when the API refuses a request although the token has the scope. The package
// does not retry, except for the retries of the client; the caller's context bounds it.
//
// Callers are the Find functions of the modes, at the start of the operator. A token that lacks a scope ends the start: the error names the
// scope and the cure. Scopes is a RoundTripper that only remembers a header.
//
// The error about a 401 names LINODE_TOKEN. The error about a 403 names the scope or, if the token has the scope, the role of its user. The
// error about a 404, or about an answer that does not come from the Linode API, names LINODE_URL. If the API reports no scopes, they are
// not compared.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Wanted is the cluster to look for, with the facts that messages about it need.
type Wanted struct {
	Name   string
	Region string        // if not empty, the region that the cluster must be in
	URL    string        // the API's address
	Scopes func() string // the token's scopes as the API has reported them; empty if it has not
	Needs  []string      // scopes that enabled optional features need

	OnRestricted func(user string) // called by Check if the token's user is restricted to its roles; may be nil
}

// Check returns an error if the token lacks a scope. It reads the user, then the instances with a text in their label, up to the first
// instance, and compares the scopes that the API has reported. fix describes how to make a token with all scopes. A token that may not read
// the user is no error.
func (w Wanted) Check(ctx context.Context, client *linode.Client, label, fix string, scopes ...string) error {
	if user := RestrictedUser(ctx, client); user != "" && w.OnRestricted != nil {
		w.OnRestricted(user)
	}
	next, stop := iter.Pull2(client.ListInstances(ctx, linode.Where("label").Contains(label)))
	defer stop()
	if _, err, _ := next(); err != nil {
		return w.Explain(err, "linodes:read_only", "reading Linodes", fix)
	}
	return lacking(w.Scopes(), append(scopes, w.Needs...))
}

// Explain turns an error of the API into an error with the cure for the user. fix describes how to make a token that has the scope.
func (w Wanted) Explain(err error, scope, doing, fix string) error {
	switch linode.KindOf(err) {
	case linode.KindUnauthorized:
		var apiErr *linode.Error
		if errors.As(err, &apiErr) && apiErr.Status == 0 { // the client could not send the request
			return &options.Error{Name: "LINODE_TOKEN", Found: "no usable token", Err: apiErr.Err,
				Fix: "set it to a Linode personal access token, or LINODE_TOKEN_FILE to a file that holds one"}
		}
		return &options.Error{Name: "LINODE_TOKEN", Found: "the Linode API at " + w.URL + " refuses the token (401)", Fix: fix}
	case linode.KindForbidden:
		if role := roles[scope]; role != "" && w.has(scope) {
			section, _, _ := strings.Cut(scope, ":")
			return &options.Error{Name: "LINODE_TOKEN",
				Found: "the token's user lacks the role " + role + " (403 " + doing + ", although the token has the scope " + scope + ")",
				Fix:   roleFix(section + ":read_write")}
		}
		return &options.Error{Name: "LINODE_TOKEN",
			Found: "the token needs the scope " + scope + " (403 " + doing + ")",
			Fix:   fix}
	case linode.KindNotFound:
		return &options.Error{Name: "LINODE_URL", Found: "there is no Linode API at " + w.URL + " (404 " + doing + ")",
			Fix: "set LINODE_URL and LINODE_API_VERSION to the API's, or leave them out"}
	default:
		// The Linode API answers errors with a body that a client recognizes. Its outages, and outages of proxies in front of it, are 5xx.
		var answer *linode.Error
		if errors.As(err, &answer) && answer.Status != 0 && answer.Status < http.StatusInternalServerError &&
			answer.Status != http.StatusTooManyRequests && len(answer.Reasons) == 0 {
			return &options.Error{Name: "LINODE_URL",
				Found: fmt.Sprintf("the server at %s is not the Linode API (status %d %s)", w.URL, answer.Status, doing),
				Fix:   "set it to the API's address, with its port, or leave it out"}
		}
		return &options.Error{Name: "LINODE_URL", Found: "the Linode API at " + w.URL + " gives no answer when " + doing, Err: err,
			Fix: "check the address, the network, and LINODE_CA if the API uses a private CA"}
	}
}
