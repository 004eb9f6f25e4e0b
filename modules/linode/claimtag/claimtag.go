// Package claimtag defines how a claimant is recorded in the tags of a Linode. The
// tags are the only durable record of a claim, and both engines (modules lkepool
// and instances) keep it in this form.
//
// A tag has 3 to 50 characters (Linode API facts: anything else is refused with
// 400 on field tags[n]). What is longer is cut, and ends in a mark and a hash, so
// that a cut value is never another one's.
package claimtag

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// MinLength and MaxLength bound a tag, in characters.
	MinLength = 3
	MaxLength = 50

	// Name and UID begin the tags of a claim.
	Name = "karpenter.sh/nodeclaim="
	UID  = "karpenter.k8s.linode/claim-uid="

	// CutMark stands before the hash of a value that was cut. No name of a
	// Kubernetes object contains it, so a cut name is never another's.
	CutMark = "_"

	cutHash, uidHash = 8, 16
)

// Value is the value of the tag Name for a claimant: its name, or what Shorten
// leaves of it.
func Value(claimant string) string { return Shorten(claimant, MaxLength-len(Name)) }

// UIDValue is the value of the tag UID, "" for no UID.
func UIDValue(uid string) string {
	if uid == "" {
		return ""
	}
	return hash(uid)[:uidHash]
}

// Shorten keeps a part of a value that is longer than room, the mark and a hash of
// the whole. A room that is too small for a hash leaves the value as it is.
func Shorten(value string, room int) string {
	if len(value) <= room || room <= cutHash+1 {
		return value
	}
	return Cut(value, value, room)
}

// Cut is the beginning of a value, the mark and a hash of a text that the value
// alone does not show, within room.
func Cut(value, text string, room int) string {
	kept := value[:min(len(value), room-cutHash-len(CutMark))]
	return strings.ToValidUTF8(kept, "") + CutMark + hash(text)[:cutHash] // a character that the cut would split goes
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ValueOf returns the value of the first tag with the given beginning, "" if there is none.
func ValueOf(tags []string, beginning string) string {
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, beginning); ok {
			return value
		}
	}
	return ""
}

// Union keeps the first occurrence of each tag, in order.
func Union(sets ...[]string) []string {
	var tags []string
	for _, tag := range slices.Concat(sets...) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
