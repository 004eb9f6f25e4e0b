package reference

import (
	"path/filepath"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Configuration returns the page docs/configuration.md of the repository at root.
func Configuration(root string) (string, error) {
	charts := filepath.Join(root, "charts", "karpenter")
	values, err := readValues(charts)
	if err != nil {
		return "", err
	}
	valueSchema, err := readSchema(charts)
	if err != nil {
		return "", err
	}
	variables, err := variablesOf(charts)
	if err != nil {
		return "", err
	}
	byVariable := invert(variables)
	own, err := settingsTable(options.Describe(), byVariable)
	if err != nil {
		return "", err
	}
	core, err := settingsTable(options.DescribeCore(), byVariable)
	if err != nil {
		return "", err
	}
	fields, err := schema()
	if err != nil {
		return "", err
	}
	spec, err := specTable(fields)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{
		generated("modules/operator/options, the CRD of LinodeNodeClass and charts/karpenter"),
		configurationIntroduction,
		"## Settings of this provider\n", settingsIntroduction, own,
		"## Settings of Karpenter core\n", coreIntroduction, core,
		"## LinodeNodeClass\n", classIntroduction, "### spec\n", spec, "### status\n", statusTable(fields),
		"## Values of the chart karpenter\n", valuesIntroduction, valuesTable(values, variables, valueSchema),
	}, "\n"), nil
}

const configurationIntroduction = `# Configuration reference

Four tables: the operator's settings for Linode, those that it has from Karpenter core, the fields of a
LinodeNodeClass, and the values of the Helm chart. NodePool and NodeClaim are Karpenter's own; ` + "`kubectl explain nodepool.spec`" + `
describes them.
`

const settingsIntroduction = `Each is an environment variable; those with a flag can be given as a flag, which wins over the variable. An empty variable
counts as not set. Where a variable has two names the first wins. "Chart value" is what sets it in the chart; a variable
without one goes into ` + "`controller.env`" + `. A wrong value ends the process with one line that names the setting.

Durations are written like ` + "`90s`" + `, ` + "`1m30s`" + ` or ` + "`2h`" + `.
`

const coreIntroduction = `The same rules apply. Defaults are core's; the chart sets some of them to other values.
`

const classIntroduction = `Cluster scoped, ` + "`karpenter.k8s.linode/v1alpha1`" + `, short names ` + "`lnc` and `lncs`" + `. Every field of the spec is optional.

"Mode" is where a field has an effect: ` + "`lke`" + ` (LKE node pools), there perhaps on the Enterprise tier only, and ` + "`instance`" + ` (plain
Linodes, see [instance mode](instance-mode.md)). In another place it is either refused (the class is not Ready, with the
reason) or ignored (a condition of the class names the fields without effect). "A change" is what happens to nodes that exist, where the field has its effect;
see [drift](drift-and-upgrades.md). What the API server checks stands at the end of each meaning.
`

const valuesIntroduction = `"Variable" is what a value sets in the operator's environment. A value that the chart does not know is refused.
`
