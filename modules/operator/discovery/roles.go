package discovery

import (
	"context"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// The role of a restricted user that a request needs in addition to the token's scope. The API's reference names the roles for LKE at each
// operation. Its list of roles has the roles for Linodes; we did not try whether they suffice.
var roles = map[string]string{
	"lke:read_only": "lkecluster_viewer", "lke:read_write": "lkecluster_admin",
	"linodes:read_only": "linode_viewer", "linodes:read_write": "account_linode_admin",
}

// Roles returns the roles that a restricted user needs where its token needs these scopes.
func Roles(scopes ...string) []string {
	var needed []string
	for _, scope := range scopes {
		if role := roles[scope]; role != "" {
			needed = append(needed, role)
		}
	}
	return needed
}

// RestrictedUser returns the name of the token's user if its rights are limited to its roles; "" if they are not, or the token may not
// read that. It is one request.
func RestrictedUser(ctx context.Context, client *linode.Client) string {
	profile, err := client.GetProfile(ctx)
	if err != nil || !profile.Restricted {
		return ""
	}
	return profile.Username
}

// roleFix describes what gives a restricted user what it lacks.
func roleFix(scopes ...string) string {
	return "give the user of LINODE_TOKEN the roles " + strings.Join(Roles(scopes...), " and ")
}
