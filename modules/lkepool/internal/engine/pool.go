package engine

import "github.com/karpenter-linode/karpenter-linode/modules/lkepool"

// ours reports whether the pool was made by this engine.
func (p *pool) ours() bool { return p.hash != "" }

// keyHash returns the hash of the key that the pool was made for, "" if the
// pool is not ours.
func (p *pool) keyHash() string { return p.hash }

// fits reports whether a node of the pool meets the key's requirements. A pool whose
// count the platform's autoscaler changes gets no new claimants either.
func (p *pool) fits(key lkepool.Key) bool {
	return !p.Autoscaled && p.InstanceType == key.InstanceType && p.Template.Fits(key.Template)
}
