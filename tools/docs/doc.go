// Package docs has no code of its own: its tests compare the project's pages with the repository.
//
// Links and anchors have targets. A real API server with the custom resources accepts the manifests, and the chart
// accepts the values. Settings, values, metrics, labels and requests that a page names exist. Each reason of a condition,
// drift reason, error at start and alert has a place in the pages. Package reference writes the generated pages.
//
// A comment before a block of YAML declares its kind: `<!-- fragment ... -->` is a part of an object, which only has to be
// valid YAML, and `<!-- values of the chart karpenter ... -->` has values. Any other block has one or more objects.
//
// README.md and the pages for a newcomer are followed command by command on a local cluster, by package follow; a block that
// needs more is marked `<!-- not followed: ... -->` with the reason.
//
// Not checked: that a sentence is true, and that the commands of the other pages work.
package docs
