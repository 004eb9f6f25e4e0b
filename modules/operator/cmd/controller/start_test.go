package main

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func TestTheStartNamesTheRolesThatARestrictedUserNeeds(t *testing.T) {
	for _, test := range []struct {
		mode       v1alpha1.Mode
		user, want string
	}{
		{v1alpha1.ModeLKE, "", ""},
		{v1alpha1.ModeLKE, "demo", `"user"="demo" "roles"=["lkecluster_admin" "account_linode_admin"]`},
		{v1alpha1.ModeInstance, "demo", `"user"="demo" "roles"=["account_linode_admin"]`},
	} {
		var lines []string
		logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		p := &platform{options: options.Options{Mode: test.mode}, user: test.user, scopes: &discovery.Scopes{},
			cluster: mode.Cluster{Log: func(logr.Logger) {}}}
		logStart(log.IntoContext(t.Context(), logger), p, fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
		written := strings.Join(lines, "\n")
		if strings.Contains(written, "restricted") != (test.want != "") || !strings.Contains(written, test.want) {
			t.Errorf("in mode %s with user %q the log has %s", test.mode, test.user, written)
		}
	}
}
