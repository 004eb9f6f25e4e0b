package k3s

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const (
	tokenPrefix = "K10"
	agentUser   = "node" // the user of agents, whatever the token names
	hashLength  = 2 * sha256.Size
)

// token has the parts of an agent's token.
type token struct {
	caHash   string // "" = the agent trusts the server's authority without a comparison
	password string
}

// parseToken reads both forms of a token (see the package's documentation). The errors do not contain the token.
func parseToken(text string) (token, error) {
	rest, full := strings.CutPrefix(text, tokenPrefix)
	if !full {
		if text == "" {
			return token{}, errors.New("the token is empty")
		}
		return token{password: text}, nil
	}
	hash, credentials, ok := strings.Cut(rest, "::")
	if !ok {
		hash, credentials = "", rest
	}
	if hash != "" && len(hash) != hashLength {
		return token{}, fmt.Errorf("invalid token CA hash length: %d, it must be %d", len(hash), hashLength)
	}
	_, password, ok := strings.Cut(credentials, ":")
	if !ok || password == "" {
		return token{}, errors.New("invalid token format: K10<CA hash>::<user>:<password> is expected")
	}
	return token{caHash: hash, password: password}, nil
}

// caHash is the hash of a self-signed authority's PEM file.
func caHash(authority []byte) string {
	sum := sha256.Sum256(authority)
	return hex.EncodeToString(sum[:])
}

// Token is the full form of an agent's token for a server with this authority.
func Token(authority []byte, password string) string {
	return tokenPrefix + caHash(authority) + "::" + agentUser + ":" + password
}
