// Package docs has no code of its own: its tests compare the project's pages with the repository.
//
// Links and anchors lead somewhere; manifests are accepted by a real API server that has the custom resources, and
// values by the chart; settings, values, metrics, labels and requests that are named exist; and what a user meets (a
// reason of a condition, a drift reason, an error at start, an alert) has a place in the pages. Package reference
// writes the pages that are generated.
//
// What a block of YAML is, a comment before it declares: `<!-- fragment ... -->` for a part of an object, which has to be
// YAML and no more, `<!-- values of the chart karpenter ... -->` for values. Any other block is one or more objects.
//
// README.md and the pages for a newcomer are followed command by command on a local cluster, by package follow; a block that
// needs more is marked `<!-- not followed: ... -->` with the reason.
//
// Not checked: that a sentence is true, and that the commands of the other pages work.
package docs
