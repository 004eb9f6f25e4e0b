package instances

import (
	"bytes"
	"compress/gzip"
	"errors"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// MaxUserData bounds the user data of an instance, in bytes before base64. The API's
// text has 65,535 bytes and "about 16kb encoded"; 16,384 works according to other
// clients.
const MaxUserData = 16_384

// encode returns the content, or its gzip if the content is too large and may be
// compressed. Cloud-init unpacks it.
func (u UserData) encode(op string) ([]byte, error) {
	const field = "Spec.UserData"
	if len(u.Content) <= MaxUserData {
		return u.Content, nil
	}
	if u.Verbatim {
		return nil, claims.Invalid(op, field,
			"has %d bytes, at most %d are allowed; it cannot be compressed, because its reader does not accept gzip", len(u.Content), MaxUserData)
	}
	compressed, err := compress(u.Content)
	if err != nil {
		return nil, claims.Invalid(op, field, "has %d bytes, at most %d are allowed, and cannot be compressed: %w", len(u.Content), MaxUserData,
			err)
	}
	if len(compressed) > MaxUserData {
		return nil, claims.Invalid(op, field, "has %d bytes, %d with gzip; at most %d are allowed", len(u.Content), len(compressed), MaxUserData)
	}
	return compressed, nil
}

// compress returns gzip without a time, so that the same content gives the same bytes.
func compress(content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = writer.Write(content)
	if err = errors.Join(err, writer.Close()); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
