package discovery

import (
	"context"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// roles has, for each scope of a token, the role that a restricted user needs in addition. The API's reference names the roles for LKE at
// each operation. The roles for Linodes are from the reference's list of roles; we did not test whether they suffice.
var roles = map[string]string{
	"lke:read_only": "lkecluster_viewer", "lke:read_write": "lkecluster_admin",
	"linodes:read_only": "linode_viewer", "linodes:read_write": "account_linode_admin",
}

// Roles returns the roles that a restricted user needs for these scopes.
func Roles(scopes ...string) []string {
	var needed []string
	for _, scope := range scopes {
		if role := roles[scope]; role != "" {
			needed = append(needed, role)
		}
	}
	return needed
}

// RestrictedUser returns the name of the token's user if the user's rights are limited to roles. It returns "" if they are not limited, or
// if the token may not read the user. It makes one request.
func RestrictedUser(ctx context.Context, client *linode.Client) string {
	profile, err := client.GetProfile(ctx)
	if err != nil || !profile.Restricted {
		return ""
	}
	return profile.Username
}

// roleFix returns the cure for a restricted user that lacks the roles for these scopes.
func roleFix(scopes ...string) string {
	return "give the user of LINODE_TOKEN the roles " + strings.Join(Roles(scopes...), " and ")
}
