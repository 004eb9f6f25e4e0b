// Package discovery has the code that all modes share for finding their cluster at start: the search, the check of what the token may do,
// and the line for the user about an error of the API.
//
// Its errors are *options.Error. It makes no write to find out what the token may do: one instance is read, and the scopes that the API
// reports with every answer are compared. Whether the token's user is restricted to roles is read, too. Which roles a user has only an
// administrator of the account can read, so a role that is missing shows in a refusal although the scope is there. It does not retry
// beyond what the client does; the caller's context bounds it.
//
// Callers are the Find functions of the modes, at the start of the operator. A token that lacks a scope, or an account without the
// cluster, ends the start: the error names the scope or the label and what to do. Scopes is a RoundTripper that only notes a header.
//
// A 401 names LINODE_TOKEN; a 403 names the scope or, if the token has the scope, the role of its user; a 404 or an answer that is not the
// Linode API's names LINODE_URL. If the API sends no scopes, they are not compared.
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

// Wanted is the cluster to look for, and what for messages about it.
type Wanted struct {
	Name   string
	Region string        // if not empty, the region that the cluster must be in
	URL    string        // the API's address
	Scopes func() string // the token's scopes as the API has reported them; empty if it has not
	Needs  []string      // scopes that optional features take

	OnRestricted func(user string) // called by Check if the token's user is restricted to its roles; may be nil
}

// Check reads instances with a text in their label, which needs a scope, and refuses a token that lacks a scope. One answer is enough. fix
// describes how to make a token with all scopes. Check reads the user first: a token that may not read the user is refused for that.
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

// Explain turns an error of the API into what the user can do. fix describes how to make a token that has the scope.
func (w Wanted) Explain(err error, scope, doing, fix string) error {
	switch linode.KindOf(err) {
	case linode.KindUnauthorized:
		var apiErr *linode.Error
		if errors.As(err, &apiErr) && apiErr.Status == 0 { // it could not be sent
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
			Found: "the token may not do what is needed (403 " + doing + ", which takes the scope " + scope + ")",
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
				Found: fmt.Sprintf("a server answers at %s, and not as the Linode API does (status %d %s)", w.URL, answer.Status, doing),
				Fix:   "set it to the API's address, with its port, or leave it out"}
		}
		return &options.Error{Name: "LINODE_URL", Found: "the Linode API at " + w.URL + " gives no answer when " + doing, Err: err,
			Fix: "check the address, the network, and LINODE_CA if the API has a certificate of its own"}
	}
}
