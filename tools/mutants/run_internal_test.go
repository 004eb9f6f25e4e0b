package mutants

import "testing"

func TestAFailureIsToldFromTestsThatDidNotRun(t *testing.T) {
	for out, want := range map[string]string{
		"panic: test timed out after 5m0s\n\trunning tests:\n":               "",
		"go: no module provides package x\n":                                 "",
		"FAIL\texample.com/m [setup failed]\n":                               "",
		"fatal error: runtime: out of memory\n":                              "",
		"fatal error: stack overflow\n":                                      "a panic",
		"panic: runtime error: index out of range\n":                         "a panic",
		"--- FAIL: TestLimit (0.01s)\n    --- FAIL: TestLimit/low (0.01s)\n": "TestLimit/low",
		"--- FAIL: TestLives (0.01s)\n    x_test.go:1: seed 7: two nodes\n":  "TestLives: seed 7: two nodes",
	} {
		if failed(out) != (want != "") || want != "" && firstFailure(out) != want {
			t.Errorf("%q: failed %t, by %q, want %q", out, failed(out), firstFailure(out), want)
		}
	}
}
