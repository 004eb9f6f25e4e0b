// Package callers records the callers that wait: claimants with the key of the node that they want, and callers with any other request.
// It admits them, answers each token once, dismisses callers whose context ends, and forgets claimants that do not come back.
//
// It knows nothing of the platform. Package decide reads a [View] of it, which changes nothing, and chooses the answers.
package callers
