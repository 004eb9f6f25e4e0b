package instances

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// cutLabel is the length of a label that was cut, in characters. The API
	// takes 64, but a label becomes the name of the node, and with that the value
	// of the Kubernetes label kubernetes.io/hostname, which has at most 63.
	cutLabel = 63
	// labelHash is how many digits of the hash a cut label has at least.
	labelHash = 20
)

// plainLabel is what the API and Kubernetes both take as a name. The API refuses
// a doubled separator.
var plainLabel = regexp.MustCompile(`^[a-z]([-.]?[a-z0-9])+$`)

// Label returns the label of a claimant's instance: prefix, a hyphen and the
// claimant's name. Where that is longer than 62 characters, or nothing that the
// API takes as a label and Kubernetes as the name of a node, it is a readable
// part and a hash of both, with 63 characters. As only such labels have that
// length, none of them is the label of another name.
func Label(prefix, claimant string) string {
	whole := prefix + "-" + claimant
	if len(whole) < cutLabel && len(whole) >= 3 && plainLabel.MatchString(whole) {
		return whole
	}
	sum := sha256.Sum256([]byte(prefix + "\x00" + claimant))
	readable := readablePart(whole)
	return readable + "-" + hex.EncodeToString(sum[:])[:cutLabel-1-len(readable)]
}

// readablePart keeps of a name what may stand in a label, and leaves room for a hash.
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
