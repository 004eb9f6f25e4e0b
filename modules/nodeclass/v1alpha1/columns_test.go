package v1alpha1_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	operatorstatus "github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

type firewalls struct{ status.Lookup }

func (firewalls) Firewall(context.Context, int) (*status.Firewall, error) {
	return &status.Firewall{Label: "nodes", Status: "enabled"}, nil
}

// Each printer column names a field that a stored class has.
func TestPrinterColumns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	ctx := context.Background()
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "columns"}, Spec: v1alpha1.LinodeNodeClassSpec{FirewallID: ptr(7)}}
	if err := api.Create(ctx, class); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.Delete(ctx, class); err != nil {
			t.Error(err)
		}
	}()
	cluster := status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierEnterprise, ControlPlaneVersion: "v1.33.6+lke7"}
	status.Apply(class, status.Evaluate(ctx, class, cluster, firewalls{}))
	class.Status.Conditions = append(class.Status.Conditions, operatorstatus.Condition{Type: v1alpha1.ConditionLaunchesAccepted,
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonLaunchRefused, Message: "no firewall 7", LastTransitionTime: metav1.Now()})
	if err := api.Status().Update(ctx, class); err != nil {
		t.Fatal(err)
	}
	stored := &v1alpha1.LinodeNodeClass{}
	if err := api.Get(ctx, client.ObjectKeyFromObject(class), stored); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Ready": "True", "Age": stored.CreationTimestamp.UTC().Format(time.RFC3339), "Reason": "Ready", "Version": "v1.33.6+lke7",
		"Firewall": "7", "Message": "", "Refused": "no firewall 7",
	}
	columns := crds.CRDs[0].Spec.Versions[0].AdditionalPrinterColumns
	if len(columns) != len(want) {
		t.Errorf("%d columns, expected %d", len(columns), len(want))
	}
	for _, column := range columns {
		path := jsonpath.New(column.Name)
		if err := path.Parse("{" + column.JSONPath + "}"); err != nil {
			t.Fatalf("%s: %v", column.Name, err)
		}
		var shown bytes.Buffer
		if err := path.Execute(&shown, object); err != nil {
			t.Errorf("%s names what the class does not have: %v", column.Name, err)
		} else if shown.String() != want[column.Name] {
			t.Errorf("%s shows %q, expected %q", column.Name, &shown, want[column.Name])
		}
	}
}
