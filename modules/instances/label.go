package instances

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// cutLabel is the length of a shortened label, in characters. The API allows 64,
	// but a label becomes the name of the node, and thus the value of the Kubernetes
	// label kubernetes.io/hostname, which has at most 63.
	cutLabel = 63
	// labelHash is the least number of digits of the hash in a shortened label.
	labelHash = 20
)

// plainLabel matches names that the API and Kubernetes both accept. The API refuses
// a doubled separator.
var plainLabel = regexp.MustCompile(`^[a-z]([-.]?[a-z0-9])+$`)

// Label returns the label of a claimant's instance: prefix, a hyphen and the claimant's
// name. If that is longer than 62 characters, or no valid label of the API and name of
// a node, Label returns a readable part and a hash of both, 63 characters long. Only
// such labels have that length, so no such label equals the label of another name.
func Label(prefix, claimant string) string {
	whole := prefix + "-" + claimant
	if len(whole) < cutLabel && len(whole) >= 3 && plainLabel.MatchString(whole) {
		return whole
	}
	sum := sha256.Sum256([]byte(prefix + "\x00" + claimant))
	readable := readablePart(whole)
	return readable + "-" + hex.EncodeToString(sum[:])[:cutLabel-1-len(readable)]
}

// readablePart returns the characters of a name that a label may contain, and leaves
// room for a hash.
func readablePart(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	text := strings.Join(parts, "-")
	if text == "" || text[0] < 'a' {
		text = "n" + text
	}
	if room := cutLabel - 1 - labelHash; len(text) > room {
		text = text[:room]
	}
	return strings.TrimRight(text, "-")
}
