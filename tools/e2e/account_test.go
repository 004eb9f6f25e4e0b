package e2e_test

import (
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// account is a client of the operator's account in a group that may do everything: the chart's policy leaves NodeClaims and their status to
// that account, and a scenario that prepares a NodeClaim writes it as the operator would have.
func (e *environment) account(t *testing.T) client.Client {
	t.Helper()
	config, err := e.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:karpenter",
		Groups: []string{"system:masters", "system:authenticated"}}
	kube, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}
