package bootstrap

import (
	"bytes"
	"errors"
	"io"
	"maps"

	"go.yaml.in/yaml/v3"
)

var _ = row(Type{
	Name: "talos", UserData: true, Kernel: "linode/direct-disk", Verbatim: always,
	render: func(in Inputs) ([]byte, error) { return Talos(in.Node, in.UserData) },
})

// Talos returns a user's machine config of a worker with the node's name, labels,
// taints and kubelet settings. The config is sent without compression
// (instances.UserData.Verbatim), and the instance boots linode/direct-disk.
// Endpoint, CA and token are in the user's config. Talos has no Before and After.
// Documents after the first are kept.
func Talos(node Node, machineConfig []byte) ([]byte, error) {
	const field = "machineConfig"
	if err := node.check(); err != nil {
		return nil, err
	}
	documents, err := decode(machineConfig)
	if err != nil {
		return nil, err
	}
	machine := -1
	for i, document := range documents {
		if _, ok := document["machine"]; ok {
			machine = i
			break
		}
	}
	if machine < 0 {
		return nil, wrong(field, "has no document with the key machine")
	}
	root := &tree{field: field, values: documents[machine]}
	config := root.table("machine")
	if kind, ok := config.values["type"]; ok && kind != "worker" {
		return nil, wrong(field+".machine.type", "%q must be worker", kind)
	}
	config.table("network").values["hostname"] = node.Name
	maps.Copy(config.table("nodeLabels").values, asAny(SelfLabels(node.Labels)))
	kubelet := config.table("kubelet")
	args := kubelet.table("extraArgs").values
	args["cloud-provider"] = "external"
	if node.Kubelet.ServerTLSBootstrap { // Talos documents the flag, and not the field
		args[serverTLSFlag], node.Kubelet.ServerTLSBootstrap = "true", false
	}
	extra := kubelet.table("extraConfig")
	maps.Copy(extra.values, node.Kubelet.configuration())
	if len(node.Taints) > 0 {
		extra.values["registerWithTaints"] = taintObjects(node)
	}
	if node.Network != AnyNetwork {
		if address := kubelet.table("nodeIP").values; address["validSubnets"] == nil { // the user's own stay
			address["validSubnets"] = node.Network.Networks()
		}
	}
	if root.err() != nil {
		return nil, root.err()
	}
	all := make([]any, 0, len(documents))
	for _, document := range documents {
		all = append(all, document)
	}
	return encode(all...)
}

func decode(text []byte) ([]map[string]any, error) {
	var documents []map[string]any
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			// The library's text may cite the config, which has secrets.
			return nil, wrong("machineConfig", "document %d is no YAML of keys and values", len(documents)+1)
		}
		if document != nil {
			documents = append(documents, document)
		}
	}
}

// tree is a table in a document. A table that is missing is made. The first
// value that has to be a table, and is not, is the error of the whole tree.
type tree struct {
	field  string
	values map[string]any
	broken *error
}

func (t *tree) err() error {
	if t.broken == nil {
		return nil
	}
	return *t.broken
}

func (t *tree) table(key string) *tree {
	if t.broken == nil {
		t.broken = new(error)
	}
	below := &tree{field: t.field + "." + key, broken: t.broken}
	switch value := t.values[key].(type) {
	case map[string]any:
		below.values = value
	case nil:
		below.values = map[string]any{}
		t.values[key] = below.values
	default:
		below.values = map[string]any{}
		if *t.broken == nil {
			*t.broken = wrong(below.field, "must be a table of keys and values")
		}
	}
	return below
}

func asAny(values map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		all[key] = value
	}
	return all
}
