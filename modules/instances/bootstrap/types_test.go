package bootstrap

import (
	"errors"
	"strings"
	"testing"
)

// inputsOf has a value for everything that a type may read, and an example of its own text.
func inputsOf(t *testing.T, row Type) Inputs {
	t.Helper()
	in := Inputs{Config: example(), Token: k3sToken}
	in.Cluster.Endpoint = "joined.example.com:6443"
	if row.Token == NodeToken {
		in.Token = kubeadmToken
	}
	switch {
	case row.Missing != nil:
		in.UserData = input(t, "custom-cloud-config.yaml")
	case row.UserData:
		in.UserData = input(t, row.Name+".yaml")
	}
	return in
}

// A trait that a row claims shows in what the row renders.
func TestTraitsOfATypeHold(t *testing.T) {
	for _, row := range Types() {
		t.Run(row.Name, func(t *testing.T) {
			in := inputsOf(t, row)
			rendered, err := row.Render(in)
			if err != nil {
				t.Fatal(err)
			}
			text := string(rendered.Content)
			for _, part := range []string{"demo-default-x7k2p", "karpenter.sh/unregistered", "external"} {
				if !strings.Contains(text, part) {
					t.Errorf("the user data lacks %q:\n%s", part, text)
				}
			}
			if has := strings.Contains(text, in.Token); has != (row.Token != NoToken) {
				t.Errorf("the token is in the user data: %t", has)
			}
			if has := strings.Contains(text, in.Cluster.Endpoint); has != row.JoinsEndpoint {
				t.Errorf("the endpoint is in the user data: %t", has)
			}
			if rendered.Verbatim != (row.Kernel != "") {
				t.Errorf("verbatim is %t", rendered.Verbatim)
			}
			if has := row.Installer != "" && strings.Contains(text, row.Installer); has != row.Installs("") {
				t.Errorf("the installer is in the user data: %t", has)
			}
			in.Installer = NoInstaller
			if rendered, err := row.Render(in); err != nil || row.Installer != "" && strings.Contains(string(rendered.Content), row.Installer) {
				t.Errorf("without an installer: %v\n%s", err, rendered.Content)
			}
			in.Cluster.CACertHashes = nil
			if _, err := row.Render(in); (err != nil) != row.PinsCA {
				t.Errorf("without the hash of a CA: %v", err)
			}
		})
	}
}

// An Ignition config is read by a program that takes no gzip, cloud-init takes it.
func TestVerbatimDependsOnTheReaderOfTheText(t *testing.T) {
	custom, err := TypeOf("custom")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"custom-ignition.json": true, "custom-cloud-config.yaml": false, "custom-script.sh": false} {
		rendered, err := custom.Render(Inputs{Config: example(), Token: k3sToken, UserData: input(t, name)})
		if err != nil || rendered.Verbatim != want {
			t.Errorf("%s: verbatim is %t, %v", name, rendered.Verbatim, err)
		}
	}
}

func TestAnUnknownTypeNamesThoseThatExist(t *testing.T) {
	_, err := TypeOf("minikube")
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Fatalf("the error is %v", err)
	}
	for _, row := range Types() {
		if !strings.Contains(err.Error(), row.Name) {
			t.Errorf("the error %v lacks %s", err, row.Name)
		}
	}
}
