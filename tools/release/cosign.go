package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// signer signs with cosign, either with a key, or with the identity of the workflow that runs
// it.
type signer struct {
	program string // "" = nothing is signed
	dir     string // holds cosign.key and cosign.pub; "" = keyless
}

// throwAwayKey makes a signer whose key lives in dir.
func throwAwayKey(ctx context.Context, program, dir string) (signer, error) {
	s := signer{program: program, dir: dir}
	return s, s.run(ctx, "generate-key-pair")
}

// sign signs the object at a reference with digest.
func (s signer) sign(ctx context.Context, reference string) error {
	return s.run(ctx, append([]string{"sign", "--yes", "--allow-http-registry"}, append(s.offline("cosign.key"), reference)...)...)
}

// attest attaches a signed SPDX document.
func (s signer) attest(ctx context.Context, reference string, document []byte) error {
	file, err := os.CreateTemp("", "sbom-*.spdx.json")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(document)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	args := []string{"attest", "--yes", "--allow-http-registry", "--type", "spdxjson", "--predicate", file.Name()}
	return s.run(ctx, append(args, append(s.offline("cosign.key"), reference)...)...)
}

// verify checks the signature and, if attested is true, the attestation of the SBOM.
func (s signer) verify(ctx context.Context, reference string, attested bool) error {
	flags := []string{"--allow-http-registry", "--key", filepath.Join(s.dir, "cosign.pub"), "--insecure-ignore-tlog=true"}
	if err := s.run(ctx, append([]string{"verify"}, append(flags, reference)...)...); err != nil || !attested {
		return err
	}
	return s.run(ctx, append([]string{"verify-attestation", "--type", "spdxjson"}, append(flags, reference)...)...)
}

// offline returns the flags for a signature with a key, which writes nothing to a public
// transparency log.
func (s signer) offline(key string) []string {
	if s.dir == "" {
		return nil
	}
	return []string{"--key", filepath.Join(s.dir, key), "--use-signing-config=false", "--tlog-upload=false"}
}

func (s signer) run(ctx context.Context, args ...string) error {
	if s.program == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "COSIGN_PASSWORD=")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cosign %s: %w: %s", args[0], err, strings.Join(strings.Fields(said.String()), " "))
	}
	return nil
}
