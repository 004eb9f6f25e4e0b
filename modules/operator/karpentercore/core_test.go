package karpentercore_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

// coreSource is the folder of core's source, of the version in go.mod.
var coreSource = sync.OnceValues(func() (string, error) {
	dir, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter").Output()
	return strings.TrimSpace(string(dir)), err
})

func coreFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := coreSource()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

func coreOperator(t *testing.T) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), coreFile(t, "pkg/operator/operator.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// calls returns the arguments of all calls of a method in the file.
func calls(file *ast.File, method string) (all [][]ast.Expr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == method {
				all = append(all, call.Args)
			}
		}
		return true
	})
	return all
}

func text(t *testing.T, e ast.Expr) string {
	t.Helper()
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("%T is no literal", e)
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

type indexed []string

func (i *indexed) IndexField(_ context.Context, object client.Object, field string, _ client.IndexerFunc) error {
	kind := fmt.Sprintf("%T", object)
	*i = append(*i, kind[strings.LastIndex(kind, ".")+1:]+" "+field)
	return nil
}

func TestTheIndexesAreThoseOfCore(t *testing.T) {
	var ours, cores indexed
	if err := karpentercore.Index(t.Context(), &ours); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range calls(coreOperator(t), "IndexField") {
		kind := arguments[1].(*ast.UnaryExpr).X.(*ast.CompositeLit).Type.(*ast.SelectorExpr).Sel.Name
		cores = append(cores, kind+" "+text(t, arguments[2]))
	}
	slices.Sort(ours)
	slices.Sort(cores)
	if !slices.Equal(ours, cores) || len(cores) == 0 {
		t.Errorf("indexes %q, core has %q", ours, cores)
	}
}

// NewOperator sets each option that core sets, except for the four options of the Lease, which the lock replaces.
func TestTheManagerHasTheOptionsOfCore(t *testing.T) {
	known := []string{
		"BaseContext", "Cache", "Controller", "HealthProbeBindAddress", "LeaderElection", "LeaderElectionConfig", "LeaderElectionID",
		"LeaderElectionLabels",
		"LeaderElectionNamespace", "LeaderElectionReleaseOnCancel", "LeaderElectionResourceLock", "Logger", "Metrics",
	}
	var set []string
	ast.Inspect(coreOperator(t), func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := literal.Type.(*ast.SelectorExpr); !ok || kind.Sel.Name != "Options" || kind.X.(*ast.Ident).Name != "ctrl" {
			return true
		}
		for _, element := range literal.Elts {
			set = append(set, element.(*ast.KeyValueExpr).Key.(*ast.Ident).Name)
		}
		return true
	})
	slices.Sort(set)
	if !slices.Equal(set, known) {
		t.Errorf("core sets the options %q, known here are %q", set, known)
	}
	var checks []string
	for _, method := range []string{"AddReadyzCheck", "AddHealthzCheck"} {
		for _, arguments := range calls(coreOperator(t), method) {
			checks = append(checks, text(t, arguments[0]))
		}
	}
	if want := []string{"manager", "crd", "readyz", "healthz"}; !slices.Equal(checks, want) {
		t.Errorf("core adds the checks %q, known here are %q", checks, want)
	}
}

// Core has a controller that plans with the recommendations of VerticalPodAutoscalers, and does not run it. Once it does, the operator
// needs rights that are off by default, and logs an error every minute where it lacks them.
func TestCoreStillRunsNoControllerForVerticalPodAutoscalers(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), coreFile(t, "pkg/controllers/controllers.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(calls(file, "NewDaemonSetController")) != 1 {
		t.Fatal("core makes its controllers elsewhere: read there")
	}
	if len(calls(file, "NewVPAController")) != 0 {
		t.Error("core runs the controller vpa.prediction: make verticalPodAutoscalerRights of charts/karpenter true by default (or pass " +
			"WithoutVPAPrediction in cmd/controller), give an end-to-end test a VerticalPodAutoscaler, and correct the value's description, " +
			"docs/cluster-rights.md and docs/whatif.md")
	}
	if _, err := os.Stat(coreFile(t, "pkg/controllers/state/informer/vpa.go")); err != nil {
		t.Errorf("core has no such controller any more (%v): verticalPodAutoscalerRights of charts/karpenter can go", err)
	}
}

func TestCoreStillNarrowsToSpot(t *testing.T) {
	source, err := os.ReadFile(coreFile(t, "pkg/controllers/disruption/consolidation.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), "NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, v1.CapacityTypeSpot)") {
		t.Error("core no longer narrows a replacement to spot capacity: OnDemand can go")
	}
}

func TestCoreStillRegistersByProviderIDAlone(t *testing.T) {
	source, err := os.ReadFile(coreFile(t, "pkg/utils/nodeclaim/nodeclaim.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), `c.List(ctx, &nodeList, client.MatchingFields{"spec.providerID": nodeClaim.Status.ProviderID})`) {
		t.Error("core no longer lists the Nodes of a NodeClaim by provider ID alone: Named has no effect, or can go")
	}
}

// Package cloudprovider needs its answers for core as long as core has these lines.
func TestCoreStillNeedsTheProvidersAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		file, line string
		absent     bool
	}{
		"attempts are counted in the message": {file: "nodeclaim/lifecycle/controller.go",
			line: "if errs != nil {\n\t\treturn reconcile.Result{}, errs\n"},
		"static NodeClaims are held":          {file: "static/provisioning/controller.go", line: "GetInstanceTypes", absent: true},
		"a NodeClaim keeps all from planning": {file: "state/cluster.go", line: "if providerID == \"\" {\n\t\t\t\treturn false\n"},
		"plans stay in the list":              {file: "nodeclaim/disruption/drift.go", line: "return InstanceTypeNotFound\n"},
		"a NodePool without class gets no plan": {file: "provisioning/provisioner.go",
			line: `Error(err, "skipping, unable to resolve instance types")`},
		"buffers are placed twice a minute":      {file: "capacitybuffer/controller.go", line: "RequeueAfter: 30 * time.Second"},
		"and when a node is being disrupted":     {file: "provisioning/controller.go", line: "taint.MatchTaint(&v1.DisruptedNoScheduleTaint)"},
		"a node without a buffer's pod is empty": {file: "disruption/emptiness.go", line: "e.cluster.HasBufferPods(c.ProviderID())"},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(coreFile(t, "pkg/controllers/"+test.file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(source), test.line) == test.absent {
				t.Errorf("%s of core has changed: see the package's doc whether the provider still has to answer as it does", test.file)
			}
		})
	}
}
