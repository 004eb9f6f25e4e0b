// Package status decides the conditions of a LinodeNodeClass: whether nodes can be made from the class, and if not, the reason and the
// remedy.
//
// The controller that reconciles LinodeNodeClasses calls [Evaluate] with the class, the facts of the cluster, and a [Lookup] that reads
// the Linode API, writes the [Result] into the object with [Apply], and stores it. The package does not depend on Linode's client. The
// controller caches answers and schedules the next check.
//
// # Guarantees
//
//   - Evaluate changes nothing, and its result depends on its arguments and the answers of the Lookup alone.
//   - It reads only objects that the class names, and each once. With a nil Lookup it reads nothing.
//   - A failed read (the API is down, the token is refused) keeps the condition of the last answer about the same object, and Result.Err
//     requests a repetition. Example: firewall 12345 was found at 10:00, and the API is down at 10:05: FirewallReady stays True. Without
//     an earlier answer the condition is Unknown, not False.
//   - Apply leaves the object unchanged, times included, when nothing is different from before.
//   - Ready carries the reason and message of the first condition that is not true, so that a client that
//     reads Ready alone, as Karpenter's core does for a NodePool, has the reason.
//   - With a nil Lookup every condition that needs one is true, with the reason CheckSkipped.
//   - A token without the scope for an object (ErrForbidden) makes its condition False with the reason Forbidden. A token that
//     is not accepted at all is a failed read.
//
// # Where a rule is checked
//
// The API server refuses objects that break a rule of format in the CRD (length and key of a tag, an image's form, keys of eviction
// thresholds). Evaluate checks the rules on tags again, with the reason TagValidationFailed, because an object may have been stored under
// an older CRD. A tag with a managed key could make the provider regard an instance as claimed.
//
// # Not guaranteed
//
// Ready does not guarantee that a launch succeeds: an account limit, a plan without capacity, or a change after the check only appears
// when a node is made.
//
// Concurrency: Evaluate may be called concurrently with anything that does not write the class; Apply writes it.
package status
