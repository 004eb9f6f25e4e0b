// Command lkeprobe measures on a live Linode account how LKE behaves where no
// source has an answer, and writes a report. See docs/probe.md.
//
//	LINODE_TOKEN=... lkeprobe --cluster 12345 --dry-run
//	LINODE_TOKEN=... lkeprobe --cluster 12345
//	LINODE_TOKEN=... lkeprobe clean --cluster 12345
//
// It creates node pools in that cluster, and removes them at its end, also on an
// interrupt or SIGTERM; a second signal ends it at once. It exits with 0 after a
// whole run, 1 after one that ended early, could not begin or left something
// behind, and 2 for wrong arguments.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/kubenode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/page"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/probe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal begins the clean-up; without the handler a second one ends the process.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, errors: os.Stderr}, os.Getenv)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "lkeprobe:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "lkeprobe:", err)
		os.Exit(1)
	}
}

type terminal struct {
	in          io.Reader
	out, errors io.Writer
}

type usageError struct{ error }

type options struct {
	clean, yes, dryRun bool
	cluster, nodes     int
	plan, only         string
	run, output        string
	kubeconfig         string
	duration, watch    time.Duration
	budget             float64
}

func parse(args []string, t terminal) (options, error) {
	o := options{clean: len(args) > 0 && args[0] == "clean"}
	name := "lkeprobe"
	if o.clean {
		name, args = "lkeprobe clean", args[1:]
	}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(t.errors)
	f.IntVar(&o.cluster, "cluster", 0, "ID of the LKE cluster, which should be one made for this")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.StringVar(&o.run, "run", "", "ID of the run: to clean up after one run only; to name a new one")
	if o.clean {
		f.DurationVar(&o.watch, "watch", 150*time.Second, "how long to look for pools that the list of pools does not show yet")
	} else {
		f.BoolVar(&o.dryRun, "dry-run", false, "print what would be created and what it could cost, and end")
		f.IntVar(&o.nodes, "nodes", 3, "nodes at once, at most")
		f.StringVar(&o.plan, "type", "", "plan of the nodes; empty is the cheapest that LKE takes in the region")
		f.DurationVar(&o.duration, "duration", 30*time.Minute, "time for all experiments")
		f.Float64Var(&o.budget, "budget", 0.5, "dollars that the run may cost at most")
		f.StringVar(&o.only, "only", "", "names of experiments, separated by commas; empty is all")
		f.StringVar(&o.kubeconfig, "kubeconfig", "", "file with access to the cluster, to see when nodes are ready in Kubernetes")
		f.StringVar(&o.output, "output", "report.json", "file for the report; the page for people gets the same name with .md")
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, usageError{err}
	}
	if f.NArg() > 0 {
		return o, usageError{fmt.Errorf("unexpected argument %q; there are flags and, in front of them, clean", f.Arg(0))}
	}
	if !o.clean && !strings.HasSuffix(o.output, ".json") {
		return o, usageError{fmt.Errorf("--output is %q; it must end in .json", o.output)}
	}
	return o, nil
}

func run(ctx context.Context, args []string, t terminal, getenv func(string) string) error {
	o, err := parse(args, t)
	if err != nil {
		return err
	}
	cfg := probe.Config{
		Access:    probe.Access{Token: strings.TrimSpace(getenv("LINODE_TOKEN")), BaseURL: getenv("LINODE_URL"), CAFile: getenv("LINODE_CA")},
		ClusterID: o.cluster, DryRun: o.dryRun, Out: t.out, Run: o.run, Watch: o.watch,
		Bounds: probe.Bounds{Type: o.plan, Nodes: o.nodes, Duration: o.duration, Budget: o.budget},
	}
	if !o.yes {
		cfg.Confirm = func(text string) (bool, error) { return confirmed(ctx, t, o.clean, text) }
	}
	if o.only != "" {
		cfg.Only = strings.Split(o.only, ",")
	}
	if o.kubeconfig != "" {
		if cfg.Nodes, err = kubenode.FromFile(o.kubeconfig); err != nil {
			return usageError{err}
		}
	}
	if o.clean {
		n, err := probe.Clean(ctx, cfg)
		if !errors.Is(err, probe.ErrDeclined) {
			fmt.Fprintf(t.out, "%d pools removed\n", n)
		}
		return err
	}
	r, err := probe.Run(ctx, cfg)
	if r == nil {
		return err
	}
	page.Table(t.out, r)
	if err := errors.Join(err, write(r, o.output)); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "report=%s\n", o.output)
	if r.Audit.Stopped != "" {
		return fmt.Errorf("the run ended early: %s", r.Audit.Stopped)
	}
	return nil
}

// confirmed reads a yes in words: the answer buys something, or deletes it. A signal
// ends the question, too.
func confirmed(ctx context.Context, t terminal, clean bool, text string) (bool, error) {
	if clean {
		fmt.Fprint(t.out, text)
	}
	fmt.Fprint(t.out, "Type yes to go on: ")
	answers := make(chan string, 1)
	go func() { // ends with the process at the latest: a read from a terminal cannot be interrupted
		line, _ := bufio.NewReader(t.in).ReadString('\n') // without an answer it is none
		answers <- line
	}()
	select {
	case line := <-answers:
		return strings.TrimSpace(line) == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// write writes both forms of the report.
func write(r *report.Report, path string) error {
	markdown := func(w io.Writer) error { return page.Markdown(w, r) }
	for name, form := range map[string]func(io.Writer) error{path: r.Write, strings.TrimSuffix(path, ".json") + ".md": markdown} {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		if err := errors.Join(form(f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
