package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// health is a NodePool with the health that GitOps tools must compute.
var health = map[string]struct {
	pool       string
	argo, flux string
}{
	"applied a moment ago": {`metadata: {generation: 1}`, "Progressing", "inProgress"},
	"without the condition, as of an operator of before": {`{metadata: {generation: 1}, status: {conditions: [
		{type: Ready, status: "True", observedGeneration: 1}]}}`, "Progressing", "inProgress"},
	"rolled out": {`{metadata: {generation: 2}, status: {conditions: [
		{type: Ready, status: "True", observedGeneration: 2}, {type: RolledOut, status: "True", observedGeneration: 2, message: done}]}}`,
		"Healthy: done", "current"},
	"the conditions are of the generation before": {`{metadata: {generation: 3}, status: {conditions: [
		{type: Ready, status: "True", observedGeneration: 2}, {type: RolledOut, status: "True", observedGeneration: 2}]}}`,
		"Progressing", "inProgress"},
	"nodes are outdated": {`{metadata: {generation: 2}, status: {conditions: [
		{type: Ready, status: "True", observedGeneration: 2},
		{type: RolledOut, status: "False", observedGeneration: 2, message: two are outdated}]}}`, "Progressing: two are outdated", "inProgress"},
	"drift is stalled": {`{metadata: {generation: 2}, status: {conditions: [
		{type: Ready, status: "True", observedGeneration: 2}, {type: RolledOut, status: "False", observedGeneration: 2},
		{type: DriftStalled, status: "True", message: a limit}]}}`, "Degraded: a limit", "failed"},
	"not ready": {`{metadata: {generation: 2}, status: {conditions: [
		{type: Ready, status: "False", observedGeneration: 2, message: no class},
		{type: RolledOut, status: "True", observedGeneration: 2}]}}`, "Degraded: no class", "failed"},
	"ready is not known yet": {`{metadata: {generation: 1}, status: {conditions: [
		{type: Ready, status: Unknown, observedGeneration: 1}, {type: RolledOut, status: "True", observedGeneration: 1}]}}`,
		"Progressing", "inProgress"},
}

// Argo CD runs the code of its ConfigMap in gopher-lua, with the object as obj, and takes the fields of the table that it returns.
func TestArgoCDsHealthCheckKnowsARollout(t *testing.T) {
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "docs/examples/argocd-health.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	code := config.Data["resource.customizations.health.karpenter.sh_NodePool"]
	for name, tt := range health {
		t.Run(name, func(t *testing.T) {
			state := lua.NewState()
			defer state.Close()
			state.SetGlobal("obj", luaValue(state, object(t, tt.pool)))
			if err := state.DoString(code); err != nil {
				t.Fatal(err)
			}
			table, ok := state.Get(-1).(*lua.LTable)
			if !ok {
				t.Fatalf("it returns %v", state.Get(-1))
			}
			got := table.RawGetString("status").String() + ": " + table.RawGetString("message").String()
			if !strings.HasPrefix(got, tt.argo) {
				t.Errorf("got %q, want %q", got, tt.argo)
			}
		})
	}
}

// Flux takes the first of three CEL expressions that is true; the fields of the object are variables.
func TestFluxsHealthCheckKnowsARollout(t *testing.T) {
	fragment := regexp.MustCompile("(?s)<!-- fragment of a Flux Kustomization -->\n```yaml\n(.*?)```")
	block := fragment.FindStringSubmatch(read(t, "docs/rollouts.md"))
	if block == nil {
		t.Fatal("the page has no expressions")
	}
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []map[string]string `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(block[1]), &kustomization); err != nil {
		t.Fatal(err)
	}
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("spec", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range health {
		t.Run(name, func(t *testing.T) {
			fields := map[string]any{"metadata": map[string]any{}, "spec": map[string]any{}, "status": map[string]any{}}
			for field, value := range object(t, tt.pool) {
				fields[field] = value
			}
			got := "none"
			for _, state := range []string{"inProgress", "failed", "current"} {
				ast, issues := env.Compile(kustomization.Spec.HealthCheckExprs[0][state])
				if issues.Err() != nil {
					t.Fatal(issues.Err())
				}
				program, err := env.Program(ast)
				if err != nil {
					t.Fatal(err)
				}
				result, _, err := program.Eval(fields)
				if err != nil {
					t.Fatalf("%s: %v", state, err)
				}
				if result.Value() == true {
					got = state
					break
				}
			}
			if got != tt.flux {
				t.Errorf("got %s, want %s", got, tt.flux)
			}
		})
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var into map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "  ")), &into); err != nil {
		t.Fatal(err)
	}
	return into
}

// luaValue converts what JSON can hold.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range v {
			table.RawSetString(key, luaValue(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(luaValue(state, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}
