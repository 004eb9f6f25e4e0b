package claims

// Claimant identifies the object that a node is made for, for Karpenter a NodeClaim.
type Claimant struct {
	// Name is unique in the cluster at any time.
	Name string
	// UID distinguishes two claimants of the same name, of which the second was
	// created after the end of the first. Without a UID only the names are
	// compared.
	UID string
}

// ClaimID identifies a claimant in the form that tags record. [Tags.ID] makes it of a
// [Claimant], [Tags.ClaimIn] reads it from tags. The zero value identifies no
// claimant.
type ClaimID struct {
	// Value is the claimant's name, or a part of a long name and a hash.
	Value string
	// UID is a hash of the claimant's UID, "" without a UID.
	UID string
}

// None reports whether the ID identifies no claimant.
func (a ClaimID) None() bool { return a.Value == "" }

// Is reports whether both IDs identify the same claimant. UIDs are compared only
// if both have one.
func (a ClaimID) Is(b ClaimID) bool {
	return a.Value == b.Value && (a.UID == b.UID || a.UID == "" || b.UID == "")
}
