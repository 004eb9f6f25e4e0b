// Command plots draws the pictures of docs/performance.md again from the page's table. `make pictures` runs it.
package main

import (
	"fmt"
	"os"

	"github.com/karpenter-linode/karpenter-linode/tools/bench/plots"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plots docs/performance.md")
		os.Exit(2)
	}
	if err := plots.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}
