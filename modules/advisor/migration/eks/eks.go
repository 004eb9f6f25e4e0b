// Package eks translates the NodePools and EC2NodeClasses of an EKS cluster into NodePools and classes of this provider, field by field.
//
// Translate reads YAML or JSON documents and writes YAML. A field with a counterpart is translated. A field without a counterpart becomes a
// comment with the reason, in its place. Comments of the user and fields of core that mean the same everywhere (limits, disruption, taints,
// weight) are kept. Kinds other than karpenter.sh/v1 NodePool and karpenter.k8s.aws/v1 EC2NodeClass are refused by name.
//
// The result is a proposal to be read, not a promise: sizes of EC2 instance types are mapped by vCPUs, families by their purpose,
// and nothing is checked against an account. All functions are pure.
//
// The caller is the command karpenter-linode import eks. For an older version, such as karpenter.sh/v1beta1, the error names the object
// and the tool that converts it. An input without a NodePool and an EC2NodeClass is an error, too. A part of the output may be written
// before an error.
package eks

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Translate writes the translation of all documents of the inputs.
func Translate(w io.Writer, inputs ...io.Reader) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	objects := 0
	for _, input := range inputs {
		decoder := yaml.NewDecoder(input)
		for {
			document := &yaml.Node{}
			err := decoder.Decode(document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("reading YAML: %w", err)
			}
			for _, object := range objectsOf(document) {
				if err := translate(object); err != nil {
					return err
				}
				blockStyle(object)
				if err := encoder.Encode(object); err != nil {
					return err
				}
				objects++
			}
		}
	}
	if objects == 0 {
		return errors.New("no NodePool and no EC2NodeClass in the input")
	}
	return encoder.Close()
}

// objectsOf returns the object of a document, or the objects of its list.
func objectsOf(document *yaml.Node) []*yaml.Node {
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	object := mapping{document.Content[0]}
	if items := object.get("items"); items != nil && items.Kind == yaml.SequenceNode {
		return items.Content
	}
	return document.Content[:1]
}

func translate(node *yaml.Node) error {
	object := mapping{node}
	kind, version, name := object.text("kind"), object.text("apiVersion"), object.child("metadata").text("name")
	switch kind + " " + version {
	case "EC2NodeClass karpenter.k8s.aws/v1":
		nodeClass(object)
	case "NodePool karpenter.sh/v1":
		nodePool(object)
	case "EC2NodeClass karpenter.k8s.aws/v1beta1", "NodePool karpenter.sh/v1beta1", "Provisioner karpenter.sh/v1alpha5":
		return fmt.Errorf("%s %s is of %s: convert it to v1 with the tools of the AWS provider first", kind, name, version)
	default:
		return fmt.Errorf("%s %s of %q is not translated: only NodePool of karpenter.sh/v1 and EC2NodeClass of karpenter.k8s.aws/v1 are", kind,
			name, version)
	}
	metadata := object.child("metadata")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers",
		"ownerReferences", "namespace"} {
		metadata.remove(field)
	}
	annotations := metadata.child("annotations")
	for _, key := range annotations.keys() {
		if isAWS(key) || key == "kubectl.kubernetes.io/last-applied-configuration" || key == "karpenter.sh/nodepool-hash" ||
			key == "karpenter.sh/nodepool-hash-version" {
			annotations.remove(key)
		}
	}
	metadata.removeEmpty("annotations")
	object.remove("status")
	return nil
}

// blockStyle writes JSON as YAML: one field in a line, but short lists of scalars in one.
func blockStyle(node *yaml.Node) {
	if node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode {
		node.Style = 0
		scalars := node.Kind == yaml.SequenceNode && len(node.Content) > 0
		for _, child := range node.Content {
			scalars = scalars && child.Kind == yaml.ScalarNode && child.HeadComment+child.LineComment+child.FootComment == ""
			blockStyle(child)
		}
		if scalars {
			node.Style = yaml.FlowStyle
		}
	}
	if node.Kind == yaml.ScalarNode && node.Style == yaml.DoubleQuotedStyle {
		if plain := (&yaml.Node{Kind: yaml.ScalarNode, Value: node.Value}); sameAsText(plain) {
			node.Style = 0
		}
	}
}

// sameAsText returns whether a scalar without quotes is still a text.
func sameAsText(plain *yaml.Node) bool {
	var out bytes.Buffer
	if yaml.NewEncoder(&out).Encode(plain) != nil {
		return false
	}
	var value any
	if yaml.Unmarshal(out.Bytes(), &value) != nil {
		return false
	}
	_, text := value.(string)
	return text
}
