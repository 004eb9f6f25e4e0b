// Command image builds the repository's container images as OCI layouts; `make image` calls it.
// It prints one line for each image: name, digest of the index, folder.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/karpenter-linode/karpenter-linode/tools/image"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o image.Options
	flag.StringVar(&o.Root, "root", "../..", "the repository's root")
	flag.StringVar(&o.Out, "out", "", "folder of the layouts; <root>/.bin/images if empty")
	flag.StringVar(&o.Version, "version", "", "version of the images, x.y.z; dev if empty")
	flag.StringVar(&o.Base, "base", image.Scratch, "base image: scratch, or name@sha256:...")
	flag.Parse()
	var err error
	if o.Root, err = filepath.Abs(o.Root); err != nil {
		return err
	}
	if o.Out == "" {
		o.Out = filepath.Join(o.Root, ".bin", "images")
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Source, err = image.ReadSource(ctx, o.Root); err != nil {
		return err
	}
	var detail bytes.Buffer // ko's own log, which also has the compiler's output
	log.SetOutput(&detail)
	for _, p := range image.Programs {
		digest, err := image.Build(ctx, p, o)
		if err != nil {
			fmt.Fprint(os.Stderr, detail.String())
			return err
		}
		fmt.Printf("%s %s %s\n", p.Name, digest, filepath.Join(o.Out, p.Name))
	}
	return nil
}
