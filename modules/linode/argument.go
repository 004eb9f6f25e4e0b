package linode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// request builds the request of an operation. segments replace the parameters of its route in their order.
func (c *Client) request(ctx context.Context, id api.OperationID, body any, segments []any) (*http.Request, error) {
	operation, _ := api.OperationByID(id)
	path, err := fill(operation, segments)
	if err != nil {
		return nil, err
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, invalid(operation, "", err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, operation.Method, c.server+path, content)
	if err != nil {
		return nil, invalid(operation, "", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// fill puts the segments into the route.
func fill(operation api.Operation, segments []any) (string, error) {
	parts := strings.Split(strings.TrimPrefix(operation.Route, "/"), "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		value, err := segment(segments[0])
		if err != nil {
			return "", invalid(operation, strings.Trim(part, "{}"), err)
		}
		parts[i], segments = url.PathEscape(value), segments[1:]
	}
	return strings.Join(parts, "/"), nil
}

// segment refuses IDs below 1: the API would answer 404, and a caller that forgot an ID would take the 404 as proof
// that the object does not exist. It also refuses segments that change the path of a request: the empty segment, "."
// and "..", which lead to the collection or the object above.
func segment(value any) (string, error) {
	if id, number := value.(int); number && id < 1 {
		return "", errors.New("an ID is a positive number")
	}
	text := fmt.Sprint(value)
	if text == "" || text == "." || text == ".." {
		return "", errors.New("a path segment must not be empty, \".\" or \"..\"")
	}
	return text, nil
}
