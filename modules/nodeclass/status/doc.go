// Package status decides the conditions of a LinodeNodeClass: whether nodes can be made from it, and if not, why
// and what to do about it.
//
// The controller that reconciles LinodeNodeClasses calls [Evaluate] with the class, the facts of the cluster,
// and a [Lookup] that reads the Linode API, writes the [Result] into the object with [Apply], and stores it.
// The package depends on nothing of Linode's client, of caching, or of scheduling of the next check: these are the
// controller's.
//
// # Guarantees
//
//   - Evaluate changes nothing, and its result depends on its arguments and the answers of the Lookup alone.
//   - It reads only objects that the class names, each once, and none when the Lookup is nil.
//   - A failed read (the API is down, the token is refused) never turns a condition that was true for the same
//     object to false or unknown: the last answer stands, and Result.Err requests a repetition. Without an
//     earlier answer the condition is unknown, not false.
//   - Apply leaves the object unchanged, times included, when nothing is different from before.
//   - Ready carries the reason and message of the first condition that is not true, so that a client that
//     reads Ready alone, as Karpenter's core does for a NodePool, has the reason.
//   - With a nil Lookup every condition that needs one is true, with the reason CheckSkipped.
//   - A token without the scope for an object (ErrForbidden) makes its condition False with the reason Forbidden. A token that
//     is not accepted at all is a failed read.
//
// # Where a rule is checked
//
// Rules of format (length and key of a tag, an image's form, keys of eviction thresholds) are refused by the API server
// from the CRD. Rules on tags are checked here again, with reason TagValidationFailed, for objects that were stored
// under an older CRD: a managed key could make the provider take an instance for claimed.
//
// # Not guaranteed
//
// That a class which is Ready can be used: an account limit, a plan without capacity, or a change after the
// check only show when a node is made.
//
// Concurrency: Evaluate may be called concurrently with anything that does not write the class; Apply writes it.
package status
