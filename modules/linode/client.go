package linode

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Client calls the API. Make it with New; it is safe for concurrent use. Make one Client per token: each Client counts
// requests on its own and uses the whole rate limit.
type Client struct {
	server    string // with the version and a slash at the end
	token     TokenSource
	timeout   time.Duration
	userAgent string
	transport http.RoundTripper
	observer  func(Call)
	limiters  map[api.RateClass]*limiter
}

// String names the server and nothing else.
func (c *Client) String() string { return "linode.Client(" + c.server + ")" }

// GoString is String, so %#v does not print the token, either.
func (c *Client) GoString() string { return c.String() }

// operationInfo identifies a call to round trippers.
type operationInfo struct{ id, route string }

// call is one call of a method: up to a handful of attempts of one request.
type call struct {
	client    *Client
	operation api.Operation
	last      attempt
	made      int  // attempts so far
	effect    bool // an earlier attempt may have been carried out
	waiting   bool // between two attempts
	nextWait  time.Duration
	limiter   time.Duration
}

// do sends a request until an attempt is final, and passes the body of a success to decode. A DELETE succeeds if it
// finds no object (404) after an earlier attempt that may have removed the object.
func (c *Client) do(id api.OperationID, request *http.Request, decode func(body []byte) error) error {
	operation, _ := api.OperationByID(id)
	started := time.Now()
	k := &call{client: c, operation: operation}
	err := k.run(request.WithContext(context.WithValue(request.Context(), operationKey{}, operationInfo{string(id), operation.Route})))
	if err == nil && decode != nil && decode(k.last.body) != nil {
		err = malformed(operation, decode(k.last.clean(k.last.body))) // the error may cite the answer, and the answer the token
	}
	c.observe(k, err, time.Since(started))
	return err
}

func (k *call) run(request *http.Request) error {
	retrying, err := retryablehttp.FromRequest(request)
	if err != nil {
		return k.invalid(err)
	}
	response, err := k.retrying().Do(retrying)
	if response != nil {
		_ = response.Body.Close() // the attempt holds the bytes
	}
	if k.made == 0 {
		return k.invalid(err)
	}
	if k.waiting { // the context ended between two attempts, while no request was under way
		k.last.outcome, k.last.err = outcomeCanceled, err
	}
	return k.result()
}

// result turns the last attempt into the call's error.
func (k *call) result() error {
	method := k.operation.Method
	kind := k.last.kind(method)
	if kind == "" || (kind == KindNotFound && method == http.MethodDelete && k.effect) {
		return nil
	}
	e := &Error{
		Kind: kind, Status: k.last.status, Method: method, Route: k.operation.Route,
		Reasons: k.last.reasons, RetryAfter: k.last.wait, MayHaveEffect: k.effect && method == http.MethodDelete, Err: k.last.err,
	}
	if kind == KindRateLimited && e.RetryAfter == 0 {
		e.RetryAfter = defaultLimitedWait
	}
	return e
}

func (k *call) invalid(err error) error {
	k.last = attempt{outcome: outcomeRefused, err: err}
	return invalid(k.operation, "", err)
}

// invalid is the error for a request that is not sent.
func invalid(operation api.Operation, field string, err error) *Error {
	e := &Error{Kind: KindInvalid, Method: operation.Method, Route: operation.Route, Err: err}
	if field != "" {
		e.Reasons, e.Err = []Reason{{Field: field, Reason: err.Error()}}, nil
	}
	return e
}

func (c *Client) observe(k *call, err error, duration time.Duration) {
	if c.observer == nil {
		return
	}
	c.observer(Call{
		Operation: string(k.operation.ID), Method: k.operation.Method, Route: k.operation.Route,
		RateClass: string(k.operation.Class), Status: k.last.status, Kind: KindOf(err),
		Duration: duration, LimiterWait: k.limiter, Retries: max(0, k.made-1),
	})
}

// fetch sends a request and decodes its answer.
func fetch[T any](ctx context.Context, c *Client, id api.OperationID, body any, segments ...any) (*T, error) {
	request, err := c.request(ctx, id, body, segments)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	if err := c.do(id, request, func(body []byte) error { return json.Unmarshal(body, answer) }); err != nil {
		return nil, err
	}
	return answer, nil
}

// rows unpacks the result of fetch for operations that answer with a list without pages.
func rows[L ~[]T, T any](list *L, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// send is fetch for operations whose answer is empty.
func send(ctx context.Context, c *Client, id api.OperationID, body any, segments ...any) error {
	request, err := c.request(ctx, id, body, segments)
	if err != nil {
		return err
	}
	return c.do(id, request, nil)
}

// malformed is the error for a success whose JSON is not of the promised shape. After a POST the object exists all the
// same, and the caller has to look it up.
func malformed(operation api.Operation, err error) *Error {
	kind := KindMalformed
	if operation.Method == http.MethodPost {
		kind = KindAmbiguous
	}
	return &Error{
		Kind: kind, Status: http.StatusOK, Method: operation.Method, Route: operation.Route,
		Err: errors.Join(errors.New("the response does not match the API's description"), err),
	}
}
