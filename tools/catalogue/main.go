package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "catalogue:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("catalogue", flag.ContinueOnError)
	api := flags.String("api", "https://api.linode.com/v4", "address of the Linode API, with its version")
	file := flags.String("file", "../modules/linodesim/catalog/facts.json", "file to write")
	date := flags.String("date", time.Now().UTC().Format(time.DateOnly), "date of the lists")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, *date); err != nil {
		return fmt.Errorf("-date=%s: it must be a date such as 2026-09-17", *date)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	listed, err := read(ctx, http.DefaultClient, *api)
	if err != nil {
		return err
	}
	old := catalog.New()
	renewed, err := renew(old, listed, *date)
	if err != nil {
		return err
	}
	for _, line := range changes(old, renewed) {
		fmt.Println(line)
	}
	text, err := renewed.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(*file, text, 0o644) //nolint:gosec // a source file
}
