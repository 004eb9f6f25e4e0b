package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/verify"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// storageClass is the StorageClass of LKE's block storage driver that deletes a volume with its claim.
const storageClass = "linode-block-storage"

// verification has the flags of verify.
type verification struct {
	access

	cluster         int
	mode, nodeClass string
	yes, dryRun     bool
	installation
	clean  string
	watch  time.Duration
	bounds lkeprobe.Bounds
	only   []string
	report string // file
	format

	console
	reached
}

// installation has the flags that install the operator for the run, and the namespace of the operator.
type installation struct {
	install           bool
	charts, namespace string
}

// console is the terminal of the person who runs verify.
type console struct {
	out  io.Writer
	in   io.Reader
	json io.Writer // gets the report as JSON; nil = out has it as text
}

// reached has the clients of the account and of the cluster. All are nil without a kubeconfig.
type reached struct {
	kube    client.Client
	config  *rest.Config
	account *linode.Client
}

func newVerify() *cobra.Command {
	v := &verification{}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Measure a Linode account and try the operator on it, for at most a dollar",
		Long: "verify measures LKE on your account and compares the results with the operator's assumptions. If the operator is " +
			"installed, it also tests the operator. It shows the objects that it will create and their highest cost, asks, and " +
			"removes everything at its end. The token is read from LINODE_TOKEN. It writes verify.json, a profile of the simulator, and " +
			"verify.md, a page for people; neither names your account. The exit status is 1 if anything is red.",
		Example: "  karpenter-linode verify --cluster 584603 --dry-run\n  karpenter-linode verify --cluster 584603\n" +
			"  karpenter-linode verify --cluster 584603 --clean 7cdecccf\n  karpenter-linode verify --mode instance --nodeclass default",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v.out, v.in = cmd.OutOrStdout(), cmd.InOrStdin()
			if v.format.name == asJSON {
				v.out, v.json = cmd.ErrOrStderr(), cmd.OutOrStdout()
			}
			return v.run(cmd.Context())
		},
	}
	v.access.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&v.cluster, "cluster", 0, "ID of the LKE cluster, which should be one made for this")
	f.StringVar(&v.mode, "mode", "lke", "mode of the operator: lke or instance")
	f.StringVar(&v.nodeClass, "nodeclass", "", "LinodeNodeClass whose spec the run's nodes have; needed in instance mode")
	f.BoolVar(&v.yes, "yes", false, "do not ask")
	f.BoolVar(&v.dryRun, "dry-run", false, "print the objects that a run would create and their highest cost, and end")
	f.BoolVar(&v.install, "install", false, "install the operator with helm first, and uninstall it at the end")
	f.StringVar(&v.charts, "charts", "charts", "folder or oci:// repository of the charts for --install")
	f.StringVarP(&v.namespace, "namespace", "n", "kube-system", "namespace of the operator")
	f.StringVar(&v.clean, "clean", "", "ID of a run: remove the objects that it left, and end; all means every run")
	f.DurationVar(&v.watch, "watch", 0, "with --clean, how long to look for pools that appear late (default 10m)")
	f.StringVar(&v.bounds.Type, "type", "", "plan of the nodes; without it the cheapest that LKE takes in the region")
	f.DurationVar(&v.bounds.Duration, "duration", 3*time.Hour, "time for everything but the clean-up")
	f.Float64Var(&v.bounds.Budget, "budget", 1, "dollars that the run may cost at most; more is refused")
	f.StringSliceVar(&v.only, "only", nil, "names of experiments and scenarios; without it all")
	f.StringVar(&v.report, "report", "verify.json", "file for the report; the page for people gets the same name with .md")
	v.format.flags(cmd, asText, asJSON)
	return cmd
}

// complete returns an error for flags that are missing or contradict each other.
func (v *verification) complete() error {
	switch {
	case v.mode != "lke" && v.mode != "instance":
		return fmt.Errorf("--mode: %q is not one of lke, instance", v.mode)
	case v.mode == "instance" && v.cluster != 0:
		return errors.New("--cluster: leave --cluster out with --mode instance, because plain Linodes have no LKE cluster")
	case v.mode == "lke" && v.cluster < 1:
		return fmt.Errorf("--cluster is %d; it must be the ID of an LKE cluster", v.cluster)
	case v.mode == "instance" && v.nodeClass == "" && v.clean == "":
		return errors.New("--nodeclass: name the LinodeNodeClass that defines how nodes join your cluster")
	case v.mode == "instance" && v.install:
		return errors.New("--install: install the operator yourself in instance mode")
	case strings.TrimSpace(os.Getenv("LINODE_TOKEN")) == "":
		return errors.New("LINODE_TOKEN is empty; it must be a token with lke:read_write and linodes:read_write")
	case !strings.HasSuffix(v.report, ".json"):
		return fmt.Errorf("--report is %q; it must end in .json", v.report)
	}
	return v.format.check()
}

func (v *verification) run(ctx context.Context) error {
	if err := v.complete(); err != nil {
		return err
	}
	cfg := lkeprobe.Config{
		Access: lkeprobe.Access{
			Token: strings.TrimSpace(os.Getenv("LINODE_TOKEN")), BaseURL: os.Getenv("LINODE_URL"), CAFile: os.Getenv("LINODE_CA"),
		},
		ClusterID: v.cluster, Bounds: v.bounds, Only: v.only, DryRun: v.dryRun, Out: v.out, Run: lkeprobe.NewRun(), Watch: v.watch,
	}
	if !v.yes {
		cfg.Confirm = func(string) (bool, error) { return v.confirmed(ctx) }
	}
	if v.clean != "" {
		cfg.Run = strings.TrimPrefix(v.clean, "all")
	}
	if err := v.reach(ctx, &cfg); err != nil {
		return err
	}
	if v.clean != "" {
		n, err := lkeprobe.Clean(ctx, cfg)
		if !errors.Is(err, lkeprobe.ErrDeclined) {
			fmt.Fprintf(v.out, "%d pools removed\n", n)
		}
		return err
	}
	r, err := lkeprobe.Run(ctx, cfg)
	if r == nil {
		return err
	}
	lkeprobe.Table(v.out, r)
	if err := errors.Join(err, writeReport(r, v.report)); err != nil {
		return err
	}
	fmt.Fprintf(v.out, "report=%s\n", v.report)
	if v.json != nil {
		if err := writeJSON(v.json, r); err != nil {
			return err
		}
	}
	if r.Audit.Stopped != "" {
		return fmt.Errorf("the run ended early: %s", r.Audit.Stopped)
	}
	if red := lkeprobe.Red(r); len(red) > 0 {
		return fmt.Errorf("red: %s; see %s", strings.Join(red, ", "), page(v.report))
	}
	return nil
}

// reach connects to Kubernetes, if there is a kubeconfig, and decides whether the run includes the operator.
func (v *verification) reach(ctx context.Context, cfg *lkeprobe.Config) error {
	var err error
	if v.reached.config, err = v.access.config(); err != nil {
		if v.mode == "instance" || v.install || v.kubeconfig != "" || v.context != "" {
			return err
		}
		fmt.Fprintln(v.out, "kubernetes no kubeconfig: Nodes and the operator are not checked")
		return nil
	}
	if v.kube, err = v.access.client(); err != nil {
		return err
	}
	cfg.Nodes = verify.KubeNodes{Kube: v.kube}
	if v.account, err = linode.New(linode.Config{
		Token: linode.StaticToken(cfg.Access.Token), BaseURL: cfg.Access.BaseURL, CAFile: cfg.Access.CAFile, APIVersion: "v4beta",
	}); err != nil {
		return err
	}
	if v.mode == "instance" {
		if cfg.Region, err = v.region(ctx); err != nil {
			return err
		}
	}
	if cfg.Run == "" { // --clean all removes the LKE pools of all runs, which it knows by their names; the operator has no part in it
		return nil
	}
	part, err := v.operator(ctx, cfg.Run)
	if part != nil {
		cfg.Operator = part
	}
	return err
}

// operator returns the operator's part of the run, nil if the operator is not installed.
func (v *verification) operator(ctx context.Context, run string) (*verify.Part, error) {
	list := &karpv1.NodePoolList{}
	err := v.kube.List(ctx, list)
	installed := err == nil
	switch {
	case v.install && installed && v.clean == "":
		return nil, errors.New("--install: Karpenter's definitions are in the cluster already; leave the flag out to try the installed operator")
	case !v.install && !installed:
		fmt.Fprintln(v.out, "operator  not installed, and not part of the run; --install installs it for the run")
		return nil, nil
	}
	cfg := verify.Config{
		Kube: v.kube, Linodes: v.account, Run: run, Kill: v.kill, Calls: v.calls,
	}
	if err := v.kube.Get(ctx, client.ObjectKey{Name: storageClass}, &storagev1.StorageClass{}); err == nil {
		cfg.Volumes = storageClass
	}
	if v.nodeClass != "" {
		class := &v1alpha1.LinodeNodeClass{}
		if err := v.kube.Get(ctx, client.ObjectKey{Name: v.nodeClass}, class); err != nil {
			return nil, fmt.Errorf("--nodeclass: %w", err)
		}
		cfg.Class = class.Spec
	}
	if v.install {
		h := helm{charts: v.charts, namespace: v.namespace, kubeconfig: v.kubeconfig, context: v.context, out: v.out}
		cfg.Uninstall = h.uninstall
		if v.clean == "" {
			cluster, err := v.account.GetCluster(ctx, v.cluster)
			if err != nil {
				return nil, err
			}
			h.cluster = cluster.Label
			cfg.Install = h.install
		}
	}
	return verify.New(cfg), nil
}

// region returns the region of the cluster's nodes.
func (v *verification) region(ctx context.Context) (string, error) {
	nodes := &corev1.NodeList{}
	if err := v.kube.List(ctx, nodes); err != nil {
		return "", err
	}
	for _, node := range nodes.Items {
		if region := node.Labels[corev1.LabelTopologyRegion]; region != "" {
			return region, nil
		}
	}
	return "", errors.New("no Node has the label " + corev1.LabelTopologyRegion + ": is Linode's cloud controller manager installed?")
}

// pods returns the operator's pods.
func (v *verification) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := v.kube.List(ctx, list, client.InNamespace(v.namespace), client.MatchingLabels{"app.kubernetes.io/name": "karpenter"})
	if err == nil && len(list.Items) == 0 {
		err = fmt.Errorf("no pod in namespace %s has the label app.kubernetes.io/name=karpenter; see --namespace", v.namespace)
	}
	return list.Items, err
}

// kill deletes the operator's pods without a grace period; its Deployment makes others.
func (v *verification) kill(ctx context.Context) error {
	pods, err := v.pods(ctx)
	for i := range pods {
		err = errors.Join(err, v.kube.Delete(ctx, &pods[i], client.GracePeriodSeconds(0)))
	}
	return err
}

// calls returns the number of the operator's requests to the Linode API, from the metrics of its pods.
func (v *verification) calls(ctx context.Context) (int, error) {
	api, err := kubernetes.NewForConfig(v.reached.config)
	if err != nil {
		return 0, err
	}
	pods, err := v.pods(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, pod := range pods {
		text, err := api.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, "http-metrics", "metrics", nil).DoRaw(ctx)
		if err != nil {
			return 0, err
		}
		total += verify.Requests(string(text))
	}
	return total, nil
}

// confirmed returns true if the person types yes. The whole word is needed, because the run buys or deletes objects. A signal ends the
// question, too.
func (v *verification) confirmed(ctx context.Context) (bool, error) {
	fmt.Fprint(v.out, "Type yes to go on: ")
	answers := make(chan string, 1)
	go func() { // may run until the process ends: a read from a terminal cannot be interrupted
		line, _ := bufio.NewReader(v.in).ReadString('\n') // after an error the line is not yes
		answers <- line
	}()
	select {
	case line := <-answers:
		return strings.TrimSpace(line) == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func page(report string) string { return strings.TrimSuffix(report, ".json") + ".md" }

// writeReport writes both forms of the report.
func writeReport(r *report.Report, path string) error {
	markdown := func(w io.Writer) error { return lkeprobe.Markdown(w, r) }
	for name, form := range map[string]func(io.Writer) error{path: r.Write, page(path): markdown} {
		f, err := os.Create(name) //nolint:gosec // the user names it
		if err != nil {
			return err
		}
		if err := errors.Join(form(f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
