// Command mutants takes one safeguard after another out of copies of modules and
// expects their tests to turn red. It ends with status 1 when a mutant survives.
//
//	mutants [-only name] ../modules/lkepool ../modules/instances
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

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
	tried := 0
	for _, module := range modules {
		list, err := mutants.Load(module)
		if err != nil {
			return survivors, err
		}
		for _, m := range list.Mutants {
			if !strings.Contains(m.Name, only) {
				continue
			}
			tried++
			red, err := list.Try(ctx, module, m)
			switch {
			case err != nil:
				return survivors, fmt.Errorf("%s: %s: %w", filepath.Base(module), m.Name, err)
			case red == "":
				survivors, red = append(survivors, m.Name), "SURVIVED"
			default:
				red = "red by " + red
			}
			fmt.Printf("%-10s %-60s %s\n", filepath.Base(module), m.Name, red)
		}
	}
	if tried == 0 {
		return nil, fmt.Errorf("no mutant of %q has a name that contains %q", modules, only)
	}
	return survivors, nil
}
