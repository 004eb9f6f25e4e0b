// Package reference writes the generated pages of docs/: the configuration reference from the operator's settings, the
// CRD of LinodeNodeClass and the chart's values; the metrics reference from the declared metrics; and the page of plans
// from the simulator's catalog.
//
// `make generate` calls its command after it has generated the CRD and the charts' READMEs, which are two of its
// sources. The tests of package docs compare names in other pages with the same sources. The package may import
// any package of the project.
//
// Guarantees: the pages depend only on the repository, and not on the environment. A setting of Karpenter core without a
// text here, and a field without an example, is an error that names it, so nothing is left
// out silently. The effect of a field is computed by the code: modes by evaluating a class that has the field, drift by the
// class's hash, a chart value's variable by rendering the chart.
//
// Not guaranteed: that a text is right. Texts about core's settings and metrics are written here.
//
// Errors name the cause: a metric of Karpenter core that has a text here and does not exist any more, a setting of core without a text, a
// field without an example, a chart that cannot be rendered. Then no page is written.
package reference
