package karpentercore

import (
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

const (
	// longestLine is how long a line of the log may be, in bytes. Core writes objects and errors about them as they are, and texts of users
	// in them are bounded by the API server's 1.5 MiB alone. Many collectors cut lines at 16 KiB, which leaves no JSON.
	longestLine = 16 << 10
	// cutLine is how much of a longer one is kept: as a text in JSON, at most twice as long as it is.
	cutLine = 7 << 10
	// boundedJSON is the encoding of lines that are bounded.
	boundedJSON = "bounded-json"
)

var registerLines = sync.OnceValue(func() error {
	return zap.RegisterEncoder(boundedJSON, func(cfg zapcore.EncoderConfig) (zapcore.Encoder, error) {
		return lines{zapcore.NewJSONEncoder(cfg), cfg}, nil
	})
})

// boundedLines returns a configuration whose lines are at most longestLine long. Of a longer one the time, the level, the logger and the
// beginning are kept.
func boundedLines(cfg zap.Config) zap.Config {
	if registerLines() == nil {
		cfg.Encoding = boundedJSON
	}
	return cfg
}

type lines struct {
	zapcore.Encoder
	cfg zapcore.EncoderConfig
}

// Clone implements zapcore.Encoder.
func (l lines) Clone() zapcore.Encoder { return lines{l.Encoder.Clone(), l.cfg} }

// EncodeEntry implements zapcore.Encoder.
func (l lines) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := l.Encoder.EncodeEntry(entry, fields)
	if err != nil || line.Len() <= longestLine {
		return line, err
	}
	length := line.Len()
	begin := strings.ToValidUTF8(string(line.Bytes()[:cutLine]), "")
	line.Free()
	const message = 1 << 10
	if len(entry.Message) > message {
		entry.Message = strings.ToValidUTF8(entry.Message[:message], "")
	}
	entry.Stack = ""
	return zapcore.NewJSONEncoder(l.cfg).EncodeEntry(entry, []zapcore.Field{zap.Int("cutBytes", length), zap.String("begin", begin)})
}
