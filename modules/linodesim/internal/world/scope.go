package world

import (
	"slices"
	"strings"
)

// May reports whether the caller's token has every given scope; read_write
// includes read_only, and "*" everything.
func (c Caller) May(scopes ...string) bool {
	for _, want := range scopes {
		if !slices.ContainsFunc(c.Scopes, func(have string) bool { return covers(have, want) }) {
			return false
		}
	}
	return true
}

func covers(have, want string) bool {
	if have == "*" || have == want {
		return true
	}
	area, _, _ := strings.Cut(want, ":")
	return have == area+":*" || have == area+":read_write"
}

// MayLKE reports whether the caller's roles allow reads, or writes, of LKE clusters and their pools. The API's reference names the
// role of each operation: lkecluster_viewer for reads, lkecluster_admin for writes.
func (c Caller) MayLKE(write bool) bool {
	return !c.Restricted || slices.Contains(c.Roles, "lkecluster_admin") || !write && slices.Contains(c.Roles, "lkecluster_viewer")
}
