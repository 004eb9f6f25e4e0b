package core

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	// The simulations make much garbage and keep little: a third of their time
	// would go into collecting it.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
