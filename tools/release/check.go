package release

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// Config of a check or a release. All fields but Built are required.
type Config struct {
	Root    string    // of the repository
	Version string    // x.y.z, without v
	Base    string    // of the images: scratch, or name@sha256:...
	Out     io.Writer // a line for each step
	Built   bool      // Publish pushes the images that Build has made before with the same Version, and builds none

	began time.Time
}

// Result lists the verified properties of a release, up to the step that failed.
type Result struct {
	Image           string // digest of the controller's image
	Charts, Modules int
	Signed          bool
	Pods, Wanted    int
	Leaked          int
}

func (r Result) String() string {
	signed := "no"
	if r.Signed {
		signed = "yes"
	}
	return fmt.Sprintf("release-check: ok image=%s charts=%d modules=%d signed=%s pods=%d/%d leaked=%d",
		r.Image, r.Charts, r.Modules, signed, r.Pods, r.Wanted, r.Leaked)
}

func (c Config) out() string      { return filepath.Join(c.Root, ".bin", "release") }
func (c Config) cosign() string   { return filepath.Join(controlplane.BinDir(c.Root), "cosign") }
func (c Config) goTag() string    { return "v" + c.Version }
func (c Config) imageDir() string { return filepath.Join(controlplane.BinDir(c.Root), "images") }

func (c *Config) step(format string, args ...any) {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	fmt.Fprintf(c.Out, "%5s  %s\n", time.Since(c.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// during prints a line with each tick until do has returned.
func (c *Config) during(what string, tick time.Duration, do func() error) error {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				c.step("%s", what)
			}
		}
	}()
	err := do()
	close(done)
	<-ended
	return err
}

// Check makes the whole release with a registry in this process, and then imports, verifies and installs it. It builds the images
// twice, also with Config.Built: different digests are an error.
func Check(ctx context.Context, c Config) (Result, error) {
	if err := validVersion(c.Version); err != nil {
		return Result{}, err
	}
	work, err := os.MkdirTemp("", "release-check-")
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.Chmod(work, 0o755); err != nil { // the image's user reads below it
		return Result{}, err
	}
	var r Result
	if err := c.checkModules(ctx, work, &r); err != nil {
		return r, err
	}
	built, err := c.checkBuild(ctx, work)
	if err != nil {
		return r, err
	}
	r.Image = built[0].digest.String()
	local := localRegistry()
	defer local.Close()
	published, err := c.checkPublish(ctx, local.Listener.Addr().String(), work, built)
	if err != nil {
		return r, err
	}
	r.Charts, r.Signed = len(published.charts), true
	return r, c.checkInstall(ctx, work, published, &r)
}

// localRegistry serves an empty registry on a free port of loopback.
func localRegistry() *httptest.Server {
	return httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
}

// checkModules tags the modules in a scratch clone and imports them.
func (c *Config) checkModules(ctx context.Context, work string, r *Result) error {
	c.step("modules: tagging %s in a scratch clone", c.goTag())
	clone := filepath.Join(work, "clone")
	if err := scratchClone(ctx, c.Root, clone); err != nil {
		return err
	}
	tags, err := tagModules(ctx, clone, c.goTag())
	if err != nil {
		return err
	}
	c.step("modules: importing the libraries in an empty module and running the README's program")
	if err := importModules(ctx, clone, work, c.goTag()); err != nil {
		return err
	}
	r.Modules = len(tags)
	return nil
}

// checkBuild builds the images twice, and returns an error if the digests differ. The second build is in a clone in another
// folder. If files are not committed, the clone would lack them, so the second build is in the repository, too.
func (c *Config) checkBuild(ctx context.Context, work string) ([]image, error) {
	built, err := c.buildImages(ctx, c.Root, c.imageDir())
	if err != nil {
		return nil, err
	}
	root := c.Root
	changed, err := git(ctx, c.Root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changed == "" {
		root = filepath.Join(work, "again")
		if err := scratchClone(ctx, c.Root, root); err != nil {
			return nil, err
		}
	}
	again, err := c.buildImages(ctx, root, filepath.Join(work, "images"))
	if err != nil {
		return nil, err
	}
	for i := range built {
		if built[i].digest != again[i].digest {
			return nil, fmt.Errorf("image %s: two builds have digests %s and %s", built[i].repository, built[i].digest, again[i].digest)
		}
	}
	return built, nil
}

// checkPublish publishes to the registry at host with a throw-away key, and verifies the signatures and the SBOMs.
func (c *Config) checkPublish(ctx context.Context, host, work string, built []image) (published, error) {
	keys := filepath.Join(work, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return published{}, err
	}
	key, err := throwAwayKey(ctx, c.cosign(), keys)
	if err != nil {
		return published{}, err
	}
	p, err := c.publish(ctx, host, built, key)
	if err != nil {
		return published{}, err
	}
	c.step("signatures: verifying them")
	for _, reference := range slices.Concat(p.images, p.chartDigests()) {
		if err := key.verify(ctx, reference, slices.Contains(p.images, reference)); err != nil {
			return published{}, err
		}
	}
	return p, p.verifyReferrers(ctx)
}
