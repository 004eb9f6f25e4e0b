package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// started returns the options that a verb makes of its flags.
func started(args ...string) (opts localcluster.Options, passedOn []string, err error) {
	verb := startVerb("up", "", func(verb *cobra.Command, o localcluster.Options, _ chosen) error {
		opts, passedOn = o, arguments(verb)
		return nil
	})
	verb.SilenceErrors, verb.SilenceUsage = true, true
	verb.SetArgs(args)
	err = verb.Execute()
	return opts, passedOn, err
}

func valuesFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestValuesAndGatesReachTheChartAndTheBackgroundProcess(t *testing.T) {
	file := valuesFile(t, "replicas: 2\nsettings: {batchIdleDuration: 2s, featureGates: {nodeRepair: true}}\n")
	opts, passedOn, err := started("--values="+file, "--tier=enterprise", "--gates=CapacityBuffer=true,NodeRepair=false")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"replicas": 2.0,
		"settings": map[string]any{"batchIdleDuration": "2s", "featureGates": map[string]any{"nodeRepair": false, "capacityBuffer": true}},
	}
	if !reflect.DeepEqual(opts.Values, want) || opts.Replicas != 2 {
		t.Errorf("values %v, replicas %d", opts.Values, opts.Replicas)
	}
	again, _, err := started(passedOn...)
	if err != nil || !reflect.DeepEqual(again, opts) {
		t.Errorf("the background process gets %+v, %v", again, err)
	}
	if plain, passedOn, err := started(); err != nil || plain.Values != nil || len(passedOn) > 0 {
		t.Errorf("without values: %v, %q, %v", plain.Values, passedOn, err)
	}
}

func TestValuesAndGatesThatCannotBeAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ file, gates, says string }{
		"no YAML":           {"a: [", "", "values.yaml"},
		"a gate that is on": {"", "CapacityBuffer", `"CapacityBuffer"`},
		"a gate without":    {"", "=true", `"=true"`},
		"gates of a text":   {"settings: {featureGates: none}", "NodeRepair=true", "settings.featureGates"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--gates=" + test.gates}
			if test.file != "" {
				args = append(args, "--values="+valuesFile(t, test.file))
			}
			if _, _, err := started(args...); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to contain %q", err, test.says)
			}
		})
	}
	if _, _, err := started("--values=nowhere.yaml"); err == nil || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Values that the chart refuses are refused before any program starts.
func TestCheckRefusesWhatTheChartRefuses(t *testing.T) {
	for name, test := range map[string]struct{ file, gates, words string }{
		"nothing":            {"", "", ""},
		"good values":        {"settings: {batchIdleDuration: 2s}", "NodeRepair=true", ""},
		"a value that is no": {"settings: {batchIdelDuration: 2s}", "", "batchIdelDuration"},
		"a duration":         {"settings: {batchIdleDuration: \"10\"}", "", "a duration with a unit, for example 10s"},
		"a level":            {"logLevel: verbose", "", "logLevel"},
		"a gate":             {"", "NodeRepairs=true", "nodeRepairs"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"check", "--gates=" + test.gates}
			if test.file != "" {
				args = append(args, "--values="+valuesFile(t, test.file))
			}
			if _, problem := said(t, args...); (problem == "") != (test.words == "") || !strings.Contains(problem, test.words) {
				t.Errorf("got %q, want %q", problem, test.words)
			}
		})
	}
}
