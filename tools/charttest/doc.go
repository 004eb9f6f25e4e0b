// Package charttest holds the tests of the Helm charts and of the manifests in docs/examples. It renders the charts with
// Helm as a library, checking values against the charts' schemas as `helm install` does, and looks at the objects. A real
// API server from .bin validates them in dry runs; nothing is stored, and the helm program is not needed.
//
// Not tested here: that the controller works with the chart's rights and environment. The end-to-end tests install the
// charts for that.
package charttest
