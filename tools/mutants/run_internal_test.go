package mutants

import "testing"

func TestATimeoutIsToldFromAFailure(t *testing.T) {
	for out, want := range map[string]string{
		"panic: test timed out after 5m0s\n\trunning tests:\n":               "a timeout",
		"panic: runtime error: index out of range\n":                         "a panic",
		"--- FAIL: TestLimit (0.01s)\n    --- FAIL: TestLimit/low (0.01s)\n": "TestLimit/low",
		"--- FAIL: TestLives (0.01s)\n    x_test.go:1: seed 7: two nodes\n":  "TestLives: seed 7: two nodes",
	} {
		if name := firstFailure(out); name != want {
			t.Errorf("%q: got %q, want %q", out, name, want)
		}
	}
}
