// Package linodehttp sends requests to the simulated Linode API, for the simulated parts of a cluster.
//
// Unlike modules/linode it has all operations and no rate limit, and repeats no request: a simulated program tries again as the real
// program does. A Client is safe for concurrent use.
//
// A request may take two minutes. If the API refuses a request, the error is an *Error with the status and the body; IsNotFound recognizes
// a 404. Callers are the simulated parts of the cluster: CAPL, the cloud controller manager, the storage driver, and the demo.
//
// List reads pages of 500 entries until the last one.
package linodehttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Client sends requests with one token.
type Client struct {
	base, token, agent string
	http               *http.Client
}

const requestTimeout = 2 * time.Minute

// New returns a Client. base is the URL of the API without its version; agent is the name of the program that is simulated.
func New(base, token, agent string) *Client {
	return &Client{base, token, agent + " (simulated)", &http.Client{Timeout: requestTimeout}}
}

// Error is an answer that reports an error.
type Error struct {
	Status  int
	Request string
	Body    string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %d: %s", e.Request, e.Status, e.Body) }

const pageSize = 500 // the most that the API gives

// IsNotFound reports whether the API answered that there is no such object.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// Send sends one request, and decodes the answer into out unless that is nil. An empty filter has no effect.
func (c *Client) Send(ctx context.Context, method, path, filter string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/v4"+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", c.agent)
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if filter != "" {
		request.Header.Set("X-Filter", filter)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode >= http.StatusMultipleChoices:
		return &Error{answer.StatusCode, method + " " + path, string(text)}
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}

// List reads all pages.
func List[T any](ctx context.Context, c *Client, path, filter string) ([]T, error) {
	var all []T
	for page := 1; ; page++ {
		var answer struct {
			Data  []T `json:"data"`
			Pages int `json:"pages"`
		}
		at := path + "?page=" + strconv.Itoa(page) + "&page_size=" + strconv.Itoa(pageSize)
		if err := c.Send(ctx, http.MethodGet, at, filter, nil, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Data...)
		if page >= answer.Pages {
			return all, nil
		}
	}
}
