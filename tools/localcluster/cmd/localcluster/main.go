// Command localcluster builds, starts and stops the local cluster.
//
//	localcluster build [program...]   builds what is not up to date into .bin
//	localcluster demo [flags]         starts a cluster, shows the main job on it, stops it
//	localcluster up [flags]           starts a cluster in the background, waits until it is ready
//	localcluster status [flags]       says what runs
//	localcluster down [flags]         stops exactly what up started
//
// What a shell is to evaluate goes to standard output, all else to standard
// error. Exit status 0 means that it worked; else one line says what did not.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// verb is a subcommand. Adding one means a line in verbs.
type verb struct {
	name, says string
	run        func(ctx context.Context, args []string) error
	hidden     bool
}

func verbs() []verb {
	return []verb{
		{name: "build", says: "build what is not up to date into .bin", run: build},
		{name: "demo", says: "watch pods get Linode nodes and the nodes go away again", run: runDemo},
		{name: "up", says: "start a cluster in the background and wait until it is ready", run: up},
		{name: "status", says: "say what runs", run: status},
		{name: "down", says: "stop what up started", run: down},
		{name: "supervise", hidden: true, run: supervise},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", strings.TrimPrefix(err.Error(), "localcluster: "))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say what to do: %s", strings.Join(names(), ", "))
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			return v.run(ctx, args[1:])
		}
	}
	return fmt.Errorf("%q is none of %s", args[0], strings.Join(names(), ", "))
}

func names() []string {
	var all []string
	for _, v := range verbs() {
		if !v.hidden {
			all = append(all, v.name)
		}
	}
	return all
}
