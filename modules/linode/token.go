package linode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// TokenSource returns the token for one request. It is called before every attempt, from many goroutines, so it must be
// quick and safe for concurrent use. Printing a TokenSource shows an address and never a token.
type TokenSource func(ctx context.Context) (string, error)

// StaticToken always returns the same token, without white space around it.
func StaticToken(token string) TokenSource {
	token = strings.TrimSpace(token)
	return func(context.Context) (string, error) {
		return token, checkToken(token)
	}
}

// FileToken reads the token from a file, anew for every request: a rotated Secret needs no restart. While the file has no
// valid token, for example while another program rewrites it, FileToken returns the last valid token. Without an earlier
// token the request fails with KindUnauthorized.
func FileToken(path string) TokenSource {
	var (
		mu   sync.Mutex
		last string
	)
	return func(context.Context) (string, error) {
		data, err := os.ReadFile(path)
		token := strings.TrimSpace(string(data))
		if err == nil {
			err = checkToken(token)
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			last = token
		} else if last == "" {
			return "", fmt.Errorf("token file %s: %w", path, err)
		}
		return last, nil
	}
}

// checkToken refuses a token that cannot be sent in a header. Its errors never contain the token.
func checkToken(token string) error {
	if token == "" {
		return errors.New("the token is empty")
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return errors.New("the token contains white space, a control character or a character outside ASCII")
		}
	}
	return nil
}
