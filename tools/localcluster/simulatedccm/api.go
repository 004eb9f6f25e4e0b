package simulatedccm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// apiClient sends requests to the Linode API. It repeats none: the manager's controllers do.
type apiClient struct {
	base, token string
	http        *http.Client
}

// apiError is an answer that reports an error.
type apiError struct {
	Status  int
	Request string
	Body    string
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %d: %s", e.Request, e.Status, e.Body) }

const pageSize = 500 // the most that the API gives

// send sends one request, and decodes the answer into out unless that is nil.
func (c *apiClient) send(ctx context.Context, method, path, filter string, in, out any) error {
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
	request.Header.Set("User-Agent", "linode-cloud-controller-manager (simulated)")
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
		return &apiError{answer.StatusCode, method + " " + path, string(text)}
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}

// list reads all pages.
func list[T any](ctx context.Context, c *apiClient, path, filter string) ([]T, error) {
	var all []T
	for page := 1; ; page++ {
		var answer struct {
			Data  []T `json:"data"`
			Pages int `json:"pages"`
		}
		at := path + "?page=" + strconv.Itoa(page) + "&page_size=" + strconv.Itoa(pageSize)
		if err := c.send(ctx, http.MethodGet, at, filter, nil, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Data...)
		if page >= answer.Pages {
			return all, nil
		}
	}
}
