package api

import (
	"bytes"
	"fmt"
	"time"
)

// timeLayout is the form of the API's times: UTC without a zone.
const timeLayout = "2006-01-02T15:04:05"

// Time is a moment as the API writes it, `2026-03-01T09:30:00`: UTC, without a zone, to the second.
//
// It reads RFC 3339 times as well (examples in the API's published description have them, real answers do not) and
// always writes the API's own form. The zero Time is written as `0001-01-01T00:00:00`.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler. null leaves t as it is, as for every type of encoding/json.
func (t *Time) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return fmt.Errorf("a time is a JSON string, not %.40s", data)
	}
	text := string(data[1 : len(data)-1])
	parsed, err := time.Parse(timeLayout, text)
	if err != nil {
		parsed, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("%.40q is not a time of the form %s", text, timeLayout)
	}
	t.Time = parsed.UTC()
	return nil
}

// String returns the API's form.
func (t Time) String() string { return t.UTC().Format(timeLayout) }
