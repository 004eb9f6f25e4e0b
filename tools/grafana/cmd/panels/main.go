// Command panels scrapes an operator until it is interrupted, and then prints the data that the panels of a dashboard show
// for that time. The page in ../../panels draws the data. tools/make/pictures.sh runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/karpenter-linode/karpenter-linode/tools/grafana"
	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

func main() {
	metrics := flag.String("metrics", "", "URL of the operator's metrics")
	file := flag.String("dashboard", "charts/karpenter/files/dashboard.json", "file of the dashboard")
	speed := flag.Int("speed", 1, "a second counts as so many")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *metrics, *file, *speed); err != nil {
		fmt.Fprintln(os.Stderr, "panels:", err)
		os.Exit(1)
	}
}

// run scrapes until ctx ends.
func run(ctx context.Context, out io.Writer, metrics, file string, speed int) (err error) {
	dashboard, err := grafana.Load(file)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "panels")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	server, err := prometheus.StartLapse(metrics, folder, speed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	began := server.Now()
	<-ctx.Done()
	answered, err := dashboard.Query(context.WithoutCancel(ctx), server, began, server.Now())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answered)
}
