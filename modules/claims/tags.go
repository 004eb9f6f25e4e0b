package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// MinTagLength and MaxTagLength bound a tag, in characters.
	MinTagLength = 3
	MaxTagLength = 50

	// CutMark precedes the hash of a value that was cut. No name of a Kubernetes
	// object contains it.
	CutMark = "_"

	// DefaultClaimKey and DefaultDomain are the keys of the Karpenter operator.
	DefaultClaimKey = "karpenter.sh/nodeclaim"
	DefaultDomain   = "karpenter.k8s.linode"

	cutHash, uidHash = 8, 16
	uidKey           = "claim-uid"
	// longestOwn bounds the part of an engine's tag after the domain: a slash, the
	// key, "=" and a value. The tag with the claim's UID has the longest part.
	longestOwn = len("/"+uidKey+"=") + uidHash
	// shortestValue leaves room for one character, the mark and the hash of a name.
	shortestValue = 1 + len(CutMark) + cutHash
)

// Tags configures the keys of the tags that record claims. The zero value has the
// keys of the Karpenter operator. Machines keep their tags: after a change of keys
// an engine no longer recognises the machines that it made before.
type Tags struct {
	// ClaimKey is the key of the tag with the claimant's name; "" means DefaultClaimKey.
	ClaimKey string
	// Domain precedes the keys of all other tags that an engine sets, with a slash
	// between; "" means DefaultDomain.
	Domain string
}

// Check returns a KindInvalid error if tags cannot have these keys. field names the
// setting in the error.
func (t Tags) Check(op, field string) error {
	for _, key := range []struct {
		name, value string
		longest     int
	}{
		{".ClaimKey", t.claimKey(), MaxTagLength - len("=") - shortestValue},
		{".Domain", t.domain(), MaxTagLength - longestOwn},
	} {
		switch {
		case len(key.value) > key.longest:
			return Invalid(op, field+key.name, "%q has %d characters; at most %d are allowed", key.value, len(key.value), key.longest)
		case strings.ContainsFunc(key.value, func(r rune) bool { return r <= ' ' || r > '~' || r == '=' || r == ',' }):
			return Invalid(op, field+key.name, "%q must be printable ASCII without blanks, '=' and ','", key.value)
		}
	}
	if strings.HasPrefix(t.claimKey(), t.domain()+"/") {
		return Invalid(op, field+".ClaimKey", "%q is in the domain %s, whose keys are the engine's", t.claimKey(), t.domain())
	}
	return nil
}

func (t Tags) claimKey() string { return orDefault(t.ClaimKey, DefaultClaimKey) }
func (t Tags) domain() string   { return orDefault(t.Domain, DefaultDomain) }

func orDefault(value, usual string) string {
	if value == "" {
		return usual
	}
	return value
}

// Prefix returns the start of the tags with a key of an engine, up to their values:
// "karpenter.k8s.linode/cluster=" for "cluster". Keys have at most 9 characters if
// their values have 16.
func (t Tags) Prefix(key string) string { return t.domain() + "/" + key + "=" }

// Value returns the value of the claim tag for a claimant's name: the name, or a
// part of a long name and a hash. It is the value of Node.Claim.
func (t Tags) Value(name string) string { return Shorten(name, MaxTagLength-len(t.claimPrefix())) }

// ID returns a claimant in the form that tags record.
func (t Tags) ID(claimant Claimant) ClaimID {
	id := ClaimID{Value: t.Value(claimant.Name)}
	if claimant.UID != "" {
		id.UID = hash(claimant.UID)[:uidHash]
	}
	return id
}

// ClaimIn returns the claimant that tags record, the zero ClaimID for none. The
// first tag of each key counts.
func (t Tags) ClaimIn(tags []string) ClaimID {
	return ClaimID{
		Value: firstAfter(tags, t.claimKey(), "="),
		UID:   firstAfter(tags, t.domain(), "/", uidKey, "="),
	}
}

// NameTag returns the tag with the claimant's name.
func (t Tags) NameTag(id ClaimID) string { return t.claimPrefix() + id.Value }

// UIDTag returns the tag with the hash of the claimant's UID, "" for an ID without one.
func (t Tags) UIDTag(id ClaimID) string {
	if id.UID == "" {
		return ""
	}
	return t.uidPrefix() + id.UID
}

// IsClaim reports whether a tag has the claimant's name or UID. Only an engine may
// add or remove such a tag.
func (t Tags) IsClaim(tag string) bool {
	_, name := after(tag, t.claimKey(), "=")
	_, uid := after(tag, t.domain(), "/", uidKey, "=")
	return name || uid
}

func (t Tags) claimPrefix() string { return t.claimKey() + "=" }
func (t Tags) uidPrefix() string   { return t.Prefix(uidKey) }

// firstAfter returns what follows the parts in the first tag that begins with them.
// Lists of instances are searched often, so no prefix is put together for it.
func firstAfter(tags []string, parts ...string) string {
	for _, tag := range tags {
		if rest, ok := after(tag, parts...); ok {
			return rest
		}
	}
	return ""
}

func after(tag string, parts ...string) (rest string, ok bool) {
	for _, part := range parts {
		if tag, ok = strings.CutPrefix(tag, part); !ok {
			return "", false
		}
	}
	return tag, true
}

// Tag joins key and value with "=", and shortens the value if the tag would exceed
// MaxTagLength. A key that leaves no room for a hash is kept, and validation refuses
// the tag.
func Tag(key, value string) string {
	return key + "=" + Shorten(value, MaxTagLength-len(key)-1)
}

// Shorten returns the value if it fits into room, and otherwise its start, CutMark
// and a hash of the whole value. A room that is too small for a hash leaves the
// value as it is.
func Shorten(value string, room int) string {
	if len(value) <= room || room <= cutHash+1 {
		return value
	}
	return Cut(value, value, room)
}

// Cut returns the start of the value, CutMark and a hash of the text, at most room
// bytes long. Text identifies the object where two objects may have the same value.
// A character that would be split is dropped.
func Cut(value, text string, room int) string {
	kept := value[:min(len(value), room-cutHash-len(CutMark))]
	return strings.ToValidUTF8(kept, "") + CutMark + hash(text)[:cutHash]
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ValueOf returns what follows the prefix in the first tag that has it, "" for none.
func ValueOf(tags []string, prefix string) string { return firstAfter(tags, prefix) }

// Union returns the first occurrence of each tag, in order.
func Union(sets ...[]string) []string {
	var tags []string
	for _, tag := range slices.Concat(sets...) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
