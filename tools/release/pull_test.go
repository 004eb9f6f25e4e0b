package release

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestAPulledImageIsRunAsItSays(t *testing.T) {
	local := localRegistry()
	defer local.Close()
	reference := local.Listener.Addr().String() + "/me/program:1.0.0"
	pushProgram(t, reference, v1.Config{User: "65532:65533", Entrypoint: []string{"/app/program"}, Env: []string{"A=a"}})
	dir := t.TempDir()
	for range 2 { // a second start finds the files of the first
		got, err := puller{dir}.program(t.Context(), reference)
		if err != nil {
			t.Fatal(err)
		}
		if got.UID != 65532 || got.GID != 65533 || !slices.Equal(got.Entrypoint, []string{"/app/program"}) ||
			!slices.Equal(got.Env, []string{"HOME=/", "A=a"}) {
			t.Errorf("got %+v", got)
		}
		if content, err := os.ReadFile(filepath.Join(got.Root, "app", "program")); err != nil || string(content) != "the program" {
			t.Errorf("the program is %q, %v", content, err)
		}
	}
	pushProgram(t, reference, v1.Config{User: "nonroot"})
	if _, err := (puller{dir}).program(t.Context(), reference); err == nil {
		t.Error("a user that is a name was accepted")
	}
	pushProgram(t, reference, v1.Config{User: "65532:65533"}, "../../escaped")
	if _, err := (puller{dir}).program(t.Context(), reference); err == nil {
		t.Error("an image with a file outside its folder was accepted")
	}
	if _, err := os.Stat(filepath.Join(dir, "escaped")); err == nil {
		t.Error("a file of the image was written outside its folder")
	}
}

func pushProgram(t *testing.T, reference string, config v1.Config, others ...string) {
	t.Helper()
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	const content = "the program"
	for _, file := range append(others, "app/program") {
		if err := archive.WriteHeader(&tar.Header{Name: file, Size: int64(len(content)), Typeflag: tar.TypeReg, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.ConfigFile(empty.Image,
		&v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: config, RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
}
