package allocator_test

import (
	"runtime/debug"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The simulations make much garbage and keep little: a third of their time
	// would go into collecting it.
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// inBubble runs a test in virtual time. It ends only when no goroutine of it is
// left.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
