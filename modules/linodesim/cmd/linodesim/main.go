// Command linodesim serves a simulated Linode API with one LKE cluster, for
// any client that can be given a base URL.
//
// It prints how to reach it as lines of the form name=value, and exits on an
// interrupt or SIGTERM after the requests in flight have been answered.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "linodesim:", err)
		os.Exit(1)
	}
}

type options struct {
	listen, admin                   string
	cluster, tier, region, versionK string
	pools, profile                  string
	token, owner                    string
	remote                          bool
	scale                           float64
	seed                            uint64
	noLimits, validate, version     bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("linodesim", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8470",
		"address of the API and of the page at /; without a host it is the loopback one, port 0 picks a free one")
	f.StringVar(&o.admin, "admin-listen", "", "address of the admin interface, which injects faults; empty is off")
	f.StringVar(&o.cluster, "cluster", "demo", "label of the LKE cluster")
	f.StringVar(&o.tier, "tier", linodesim.Standard, "its tier: standard or enterprise")
	f.StringVar(&o.region, "region", "us-ord", "its region")
	f.StringVar(&o.versionK, "k8s-version", "", "its Kubernetes version; empty is the tier's newest")
	f.StringVar(&o.pools, "pools", "g6-standard-2:1", "its pools at the start, as plan:count separated by commas; may be empty on enterprise")
	f.StringVar(&o.profile, "profile", "fast",
		"how long things take and what goes wrong: "+strings.Join(linodesim.ProfileNames(),
			", ")+", or a report of verify (a file that ends in .json)")
	f.Float64Var(&o.scale, "time-scale", 1, "divides every delay of the profile")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all random values")
	f.StringVar(&o.token, "token", linodesim.DefaultToken, "the accepted token; it has every scope")
	f.StringVar(&o.owner, "owner-token", "", "a second accepted token for manual changes by the account's owner; empty = no second token")
	f.BoolVar(&o.remote, "allow-remote", false,
		"let --listen and --admin-listen be addresses that other machines reach; --token must be given then")
	f.BoolVar(&o.noLimits, "no-rate-limits", false, "turn the documented rate limits off")
	f.BoolVar(&o.validate, "validate", false, "compare every answer with the API's description and fail those that differ")
	f.BoolVar(&o.version, "version", false, "print the version and end")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; there are only flags", f.Arg(0))
	}
	for _, listener := range []struct{ flag, address string }{{"--listen", o.listen}, {"--admin-listen", o.admin}} {
		if err := o.reachable(listener.flag, listener.address); err != nil {
			return o, err
		}
	}
	return o, nil
}

// reachable refuses addresses that other machines reach, unless that is allowed
// and the token is not the default.
func (o options) reachable(flag, address string) error {
	host, _, _ := net.SplitHostPort(address) // Listen reports a wrong address
	switch {
	case host == "" || linodesim.Loopback(host):
		return nil
	case !o.remote:
		return fmt.Errorf("%s is %q, which other machines reach; use a loopback address, or --allow-remote", flag, address)
	case o.token == linodesim.DefaultToken:
		return fmt.Errorf("%s is %q, which other machines reach, and --token is the default; choose a secret one", flag, address)
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.version {
		_, err := fmt.Fprintf(stdout, "linodesim %s (%s)\n", version, commit)
		return err
	}
	sim, cluster, err := build(o)
	if err != nil {
		return err
	}
	servers, err := listen(ctx, o, sim)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("url=http://%s\n", servers[0].address)
	if len(servers) > 1 {
		said += fmt.Sprintf("admin=http://%s\n", servers[1].address)
	}
	if o.owner != "" {
		said += "owner_token=" + o.owner + "\n"
	}
	said += fmt.Sprintf("token=%s\ncluster=%s\ncluster_id=%d\ntier=%s\nprofile=%s\n", o.token, cluster.Label, cluster.ID, cluster.Tier,
		o.profile)
	if _, err := io.WriteString(stdout, said); err != nil {
		return errors.Join(err, shut(servers))
	}
	return serve(ctx, servers)
}

// shut closes listeners that were opened and never served.
func shut(servers []listener) error {
	var errs []error
	for _, l := range servers {
		errs = append(errs, l.net.Close())
	}
	return errors.Join(errs...)
}

func build(o options) (*linodesim.Sim, linodesim.ClusterInfo, error) {
	profile, behaviour, err := linodesim.ProfileFrom(o.profile)
	if err != nil {
		return nil, linodesim.ClusterInfo{}, fmt.Errorf("--profile: %w", err)
	}
	if o.scale <= 0 {
		return nil, linodesim.ClusterInfo{}, fmt.Errorf("--time-scale is %g; it must be positive", o.scale)
	}
	pools, err := pools(o.pools)
	if err != nil {
		return nil, linodesim.ClusterInfo{}, err
	}
	tokens := map[string][]string{o.token: {"*"}}
	if o.owner != "" {
		tokens[o.owner] = []string{"*"}
	}
	sim, err := linodesim.New(linodesim.Config{
		Profile: profile, TimeScale: o.scale, Seed: o.seed, Tokens: tokens,
		NoRateLimits: o.noLimits, ValidateAnswers: o.validate, Behaviour: behaviour,
	})
	if err != nil {
		return nil, linodesim.ClusterInfo{}, err
	}
	c, err := sim.AddCluster(linodesim.ClusterSpec{Label: o.cluster, Tier: o.tier, Region: o.region, K8sVersion: o.versionK, Pools: pools,
		Settled: true})
	if err != nil {
		return nil, c, fmt.Errorf("creating the cluster of --cluster, --tier, --region, --k8s-version and --pools: %w", err)
	}
	return sim, c, nil
}

func pools(text string) ([]linodesim.PoolSpec, error) {
	var out []linodesim.PoolSpec
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		plan, count, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("--pools has %q; each entry must be plan:count, such as g6-standard-2:1", part)
		}
		out = append(out, linodesim.PoolSpec{Type: plan, Count: n})
	}
	return out, nil
}

type listener struct {
	address string
	net     net.Listener
	server  *http.Server
}

func listen(ctx context.Context, o options, sim *linodesim.Sim) ([]listener, error) {
	api := http.NewServeMux()
	api.Handle("/{$}", sim.Page())
	api.Handle("/", sim)
	out, err := open(ctx, nil, "--listen", o.listen, api)
	if err == nil && o.admin != "" {
		out, err = open(ctx, out, "--admin-listen", o.admin, sim.Admin())
	}
	return out, err
}

func open(ctx context.Context, before []listener, name, address string, h http.Handler) ([]listener, error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s: %w", name, address, err), shut(before))
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	return append(before, listener{address: l.Addr().String(), net: l, server: s}), nil
}

// serve answers until the context ends or a server fails, then lets the
// requests in flight finish.
func serve(ctx context.Context, servers []listener) error {
	failed := make(chan error, len(servers))
	for _, l := range servers {
		go func() { failed <- l.server.Serve(l.net) }()
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, l := range servers {
		if stop := l.server.Shutdown(grace); stop != nil && err == nil && !errors.Is(stop, context.DeadlineExceeded) {
			err = stop
		}
	}
	return err
}
