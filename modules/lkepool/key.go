package lkepool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Key identifies a set of interchangeable nodes. All nodes of one pool share
// one key, and a claimant never gets a node of a pool with another key.
type Key struct {
	// NodePool is the name of the Karpenter NodePool the nodes belong to.
	NodePool string
	// InstanceType is the plan, for example "g6-standard-2".
	InstanceType string
	// Template contains what the platform fixes for every node of a pool.
	Template Template
}

// Hash returns 16 hexadecimal digits over the whole key. It does not depend on
// the order of the taints, and it is stored on pools: changing how it is
// computed orphans every existing pool.
func (k Key) Hash() string {
	fields := []any{"v1", k.NodePool, k.InstanceType}
	for _, field := range templateFields {
		if field.later && field.zero(k.Template) {
			continue
		}
		fields = append(fields, field.value(k.Template))
	}
	text, err := json.Marshal(fields)
	if err != nil {
		// Strings, integers and slices of them always encode.
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Tag returns the tag that marks a pool as made for this key.
func (k Key) Tag(tags claims.Tags) string { return tags.Prefix(poolKey) + k.Hash() }
