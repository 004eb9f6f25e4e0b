// Package severity keeps level ERROR of the log for what somebody has to act upon.
//
// Karpenter core, controller-runtime and client-go write at level ERROR also what resolves by itself: somebody else wrote
// an object first, a node is on its way, the process was asked to end. Their code is not ours to change, but core's
// controllers and our own take their logger from the manager, and a reconcile's context carries it. Wired by
// cmd/controller, before any controller is made:
//
//	op.Manager, err = severity.Manager(op.Manager)
//
// A line in a closed table (table.go, each entry with its reason) is written at level INFO instead, with its message,
// its values, its error under the key "error" as before, and the reason under the key "resolves". Every other line
// passes as it is. An entry names a line by its message and by the type of its error, by the error's text only where the
// source has no type. An error that joins several counts only if each of them resolves by itself; an error in
// no entry is never made less of.
//
// Not reached is what does not come through a reconcile or the election: lines that controller-runtime's manager writes
// itself, and those of caches and of other Runnables, whose contexts core has given a logger of its own. One of the first
// comes at every end of a process that takes part in an election, "error received after stop sequence was engaged: leader
// election lost": the manager ends its elector, and takes the elector's word of it for an error. The logger for that is one
// of the options from which core makes the manager, and core asks nobody.
//
// It may know core's and the engine's types of errors, and nothing of what the controllers do.
package severity

import (
	"slices"

	"github.com/awslabs/operatorpkg/serrors"
	"github.com/go-logr/logr"
)

// Logger returns a logger that writes through the given one, which stays as it is. stopping says whether the process has
// been asked to end, or ends because something failed: what is interrupted then is no news.
func Logger(logger logr.Logger, stopping func() bool) logr.Logger {
	if logger.GetSink() == nil {
		return logger // discards everything
	}
	// A sink of our own: Init, which counts the frames between the caller and the log, must not change that of others.
	own := logger.WithValues().GetSink()
	return logr.New(&sink{LogSink: own, stopping: stopping})
}

type sink struct {
	logr.LogSink
	stopping   func() bool
	controller string // as controller-runtime names it in a value; "" outside of one
}

// Info implements logr.LogSink. It is written out because a promoted method is no frame, and Init has counted one.
func (s *sink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, message, keysAndValues...)
}

// Error implements logr.LogSink.
func (s *sink) Error(err error, message string, keysAndValues ...any) {
	why, resolves := resolution(line{message, s.controller, s.stopping}, err)
	if !resolves {
		s.LogSink.Error(err, message, keysAndValues...)
		return
	}
	if !s.Enabled(0) {
		return
	}
	// Core's logger adds the values of an error to lines at level ERROR alone.
	values := append(slices.Clone(keysAndValues), serrors.UnwrapValues(err)...)
	if err != nil {
		values = append(values, "error", err)
	}
	s.LogSink.Info(0, message, append(values, "resolves", why)...)
}

// WithValues implements logr.LogSink.
func (s *sink) WithValues(keysAndValues ...any) logr.LogSink {
	next := *s
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if name, ok := keysAndValues[i+1].(string); ok && keysAndValues[i] == "controller" {
			next.controller = name
		}
	}
	next.LogSink = s.LogSink.WithValues(keysAndValues...)
	return &next
}

// WithName implements logr.LogSink.
func (s *sink) WithName(name string) logr.LogSink {
	next := *s
	next.LogSink = s.LogSink.WithName(name)
	return &next
}

// WithCallDepth implements logr.CallDepthLogSink, as far as the sink below does.
func (s *sink) WithCallDepth(depth int) logr.LogSink {
	below, ok := s.LogSink.(logr.CallDepthLogSink)
	if !ok {
		return s
	}
	next := *s
	next.LogSink = below.WithCallDepth(depth)
	return &next
}
