package karpentercore

import (
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

const (
	// longestLine is the longest line of the log, in bytes. Core logs whole objects and errors about them. Only the API server's limit of
	// 1.5 MiB bounds the texts of users in these objects. Many log collectors cut lines at 16 KiB, and a line that is cut is no valid JSON.
	longestLine = 16 << 10
	// cutLine is the number of bytes that are kept of a longer line. The quoting as a text in JSON at most doubles this number.
	cutLine = 7 << 10
	// boundedJSON is the name of the encoding with bounded lines.
	boundedJSON = "bounded-json"
)

var registerLines = sync.OnceValue(func() error {
	return zap.RegisterEncoder(boundedJSON, func(cfg zapcore.EncoderConfig) (zapcore.Encoder, error) {
		return lines{zapcore.NewJSONEncoder(cfg), cfg}, nil
	})
})

// boundedLines returns a configuration whose lines are at most longestLine long. A longer line is replaced by a line with the same time,
// level and logger, the beginning of the message, the line's length and its first cutLine bytes.
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
