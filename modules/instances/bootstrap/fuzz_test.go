package bootstrap

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzKubeadm: whatever the values, there is an error, or a cloud-config with
// exactly the files and the command that there always are, and the values in
// their places.
func FuzzKubeadm(f *testing.F) {
	for _, value := range hostile {
		f.Add("a", value, value, "echo "+value)
		f.Add(value, "team", value, value)
	}
	f.Fuzz(func(t *testing.T, name, key, value, command string) {
		c := example()
		c.Node.Name, c.Node.Labels, c.Before = name, map[string]string{key: value}, []string{command}
		c.Node.Taints = []Taint{{Key: key, Value: value, Effect: "NoSchedule"}}
		text, err := Kubeadm(c, kubeadmToken)
		if err != nil {
			return
		}
		config := readConfig(t, text)
		if config.Hostname != name || len(config.Files) != 8 || len(config.Run) != 1 || len(config.Run[0]) != 2 {
			t.Fatalf("%s", text)
		}
		if got := config.content(t, home+"before.sh"); got != "set -eu\n"+command+"\n" {
			t.Fatalf("before.sh is %q", got)
		}
		var join struct {
			Registration struct {
				Name   string              `yaml:"name"`
				Taints []map[string]string `yaml:"taints"`
			} `yaml:"nodeRegistration"`
		}
		if err := yaml.Unmarshal([]byte(config.content(t, home+"join.yaml")), &join); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"key": key, "value": value, "effect": "NoSchedule"}
		if join.Registration.Name != name || len(join.Registration.Taints) != 1 || fmt.Sprint(join.Registration.Taints[0]) != fmt.Sprint(want) {
			t.Fatalf("join.yaml is %+v", join)
		}
	})
}

// FuzzCustom: whatever the text and the token, there is an error, or a document
// of the same structure.
func FuzzCustom(f *testing.F) {
	f.Add("a: ${KARPENTER_TOKEN}\nruncmd:\n- echo ${KARPENTER_TOKEN}\n- [a, '${KARPENTER_NODE_NAME}']\n", k3sToken)
	f.Add("a: &x ${KARPENTER_TOKEN}\nb: *x\n", "abc")
	f.Add("a: |\n  #!/bin/sh\n  ${KARPENTER_TOKEN}\n", "abc")
	for _, value := range hostile {
		f.Add("a: ${KARPENTER_TOKEN}\nb: '${KARPENTER_TOKEN}'\nc: \"${KARPENTER_TOKEN}\"\n", value)
		f.Add(value, "abc")
	}
	f.Fuzz(func(t *testing.T, text, token string) {
		text = cloudConfigStart + "\n" + text
		out, err := Custom([]byte(text), example(), token)
		if err != nil {
			return
		}
		var before, after any
		if err := yaml.Unmarshal([]byte(text), &before); err != nil {
			return // keys that are there twice, for one
		}
		if err := yaml.Unmarshal(out, &after); err != nil {
			t.Fatalf("%v: %q became %q", err, text, out)
		}
		if a, b := shape(before), shape(after); a != b {
			t.Fatalf("%q became %q:\n%s\n%s", text, out, a, b)
		}
	})
}

// shape is a document without its texts.
func shape(node any) string {
	switch node := node.(type) {
	case map[string]any:
		parts := map[string]string{}
		for key, value := range node {
			parts[key] = shape(value)
		}
		return fmt.Sprint(parts)
	case []any:
		parts := make([]string, 0, len(node))
		for _, value := range node {
			parts = append(parts, shape(value))
		}
		return fmt.Sprint(parts)
	}
	return "."
}
