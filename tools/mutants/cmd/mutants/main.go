// Command mutants takes one safeguard after another out of modules and expects their
// tests to turn red. It ends with status 1 when a mutant survives.
//
//	mutants [-only name] ../modules/lkepool ../modules/instances
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/mutants"
)

func main() {
	only := flag.String("only", "", "try the mutants whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	survivors, err := run(ctx, flag.Args(), *only)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
	case len(survivors) > 0:
		fmt.Fprintf(os.Stderr, "mutants: %d survived: %s\n", len(survivors), strings.Join(survivors, "; "))
	default:
		fmt.Println("mutants: ok, none survived")
		return
	}
	os.Exit(1)
}

func run(ctx context.Context, modules []string, only string) (survivors []string, err error) {
	r := &runner{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), began: time.Now()}
	for _, module := range modules {
		list, err := mutants.Load(module)
		if err != nil {
			return nil, err
		}
		for _, m := range list.Mutants {
			if strings.Contains(m.Name, only) {
				r.tried++
				r.group.Go(func() { r.try(ctx, list, module, m) })
			}
		}
	}
	if r.tried == 0 {
		return nil, fmt.Errorf("no mutant of %q has a name that contains %q", modules, only)
	}
	r.group.Wait()
	fmt.Printf("%d mutants in %s, with %s of processor time\n", r.tried, time.Since(r.began).Round(time.Second), r.cpu.Round(time.Second))
	slices.Sort(r.survivors)
	return r.survivors, errors.Join(r.errs...)
}

// runner tries several mutants at the same time, as many as there are processors.
type runner struct {
	slots chan struct{}
	group sync.WaitGroup
	began time.Time
	tried int

	mu        sync.Mutex
	cpu       time.Duration
	survivors []string
	errs      []error
}

func (r *runner) try(ctx context.Context, list mutants.List, module string, m mutants.Mutant) {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	if ctx.Err() != nil {
		return
	}
	began := time.Now()
	o, err := list.Try(ctx, module, m)
	red, took := o.Red, time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cpu += o.CPU
	switch {
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %w", filepath.Base(module), m.Name, err))
		return
	case red == "":
		r.survivors, red = append(r.survivors, m.Name), "SURVIVED"
	default:
		red = "red by " + red
	}
	fmt.Printf("%-10s %-60s %6.1fs, processor %5.1fs: %s\n", filepath.Base(module), m.Name, took.Seconds(), o.CPU.Seconds(), red)
}
