package karpentercore

import (
	"strings"

	"github.com/go-logr/logr"
)

// withoutStarts moves controller-runtime's three lines about the start of each controller to the debug level. With forty controllers these
// are more than a hundred lines, in which a user would look for the few lines that matter at the start.
func withoutStarts(logger logr.Logger) logr.Logger {
	return logger.WithSink(startsSink{logger.GetSink()})
}

type startsSink struct{ logr.LogSink }

func (s startsSink) Info(level int, message string, keysAndValues ...any) {
	switch strings.TrimSpace(message) {
	case "Starting Controller", "Starting EventSource", "Starting workers":
		if level = max(level, 1); !s.Enabled(level) {
			return
		}
	}
	s.LogSink.Info(level, message, keysAndValues...)
}

func (s startsSink) WithValues(keysAndValues ...any) logr.LogSink {
	return startsSink{s.LogSink.WithValues(keysAndValues...)}
}

func (s startsSink) WithName(name string) logr.LogSink { return startsSink{s.LogSink.WithName(name)} }
