package guard

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func below(parts, root []string) bool {
	return len(parts) == len(root)+1 && slices.Equal(parts[:len(root)], root)
}

func number(parts []string) int {
	n, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil {
		return -1
	}
	return n
}

// bare is a path without its version.
func bare(path string) string {
	for _, version := range []string{"/v4beta/", "/v4/"} {
		if _, rest, found := strings.Cut(path, version); found {
			return "/" + rest
		}
	}
	return path
}

func read(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// unsent begins the reason of every refusal made here.
const unsent = "not sent: "

// Refused reports whether a reason is the guard's, not the API's.
func Refused(reason string) bool { return strings.HasPrefix(reason, unsent) }

// refusal looks like the API's, so that no client tries again.
func refusal(r *http.Request, err error) *http.Response {
	body, _ := json.Marshal(map[string]any{"errors": []any{map[string]string{"reason": unsent + err.Error()}}})
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}
}
