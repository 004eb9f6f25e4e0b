package severity_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/singleton"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/severity"
)

// A manager needs no API server as long as nothing is watched.
func newManager(t *testing.T, out *output, more func(*manager.Options)) manager.Manager {
	t.Helper()
	options := manager.Options{
		Logger: out.logger("info"), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller:     config.Controller{SkipNameValidation: new(true)}, // a test may run twice in one process
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
		BaseContext:    func() context.Context { return log.IntoContext(context.Background(), out.logger("info")) }, // as core does
	}
	if more != nil {
		more(&options)
	}
	inner, err := controllerruntime.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, options)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := severity.Manager(inner)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

func start(t *testing.T, mgr manager.Manager) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(cancel)
	return func() error {
		cancel()
		return <-ended
	}
}

// said waits for a line about an error, and returns its level.
func said(t *testing.T, out *output, controller, message, err string) any {
	t.Helper()
	found := -1
	var lines []map[string]any
	for deadline := time.Now().Add(20 * time.Second); found < 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		lines = out.lines(t)
		found = slices.IndexFunc(lines, func(line map[string]any) bool {
			return line["message"] == message && line["error"] == err && (controller == "" || line["controller"] == controller)
		})
	}
	if found < 0 {
		t.Fatalf("nobody says %q of %q: %v", message, err, lines)
	}
	return lines[found]["level"]
}

func TestEveryControllerWritesThroughIt(t *testing.T) {
	out := &output{}
	mgr := newManager(t, out, nil)
	waiting := make(chan struct{})
	reconcilers := map[string]reconcile.Func{
		"conflicting": func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, errModified
		},
		"broken": func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, errBroken
		},
		"speaking": func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) { // as core does, with the context's logger
			log.FromContext(ctx).Error(errWaiting, "cluster is waiting on sync for extended duration")
			return reconcile.Result{}, nil
		},
		"giving-up": func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, fmt.Errorf("of its own accord: %w", context.Canceled)
		},
		"interrupted": func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			close(waiting)
			<-ctx.Done()
			return reconcile.Result{}, fmt.Errorf("listing: %w", ctx.Err())
		},
	}
	for name, reconciler := range reconcilers {
		if err := controllerruntime.NewControllerManagedBy(mgr).Named(name).WatchesRawSource(singleton.Source()).Complete(reconciler); err != nil {
			t.Fatal(err)
		}
	}
	plain, err := controller.New("without-builder", mgr, controller.Options{Reconciler: reconcilers["conflicting"]})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Watch(singleton.Source()); err != nil {
		t.Fatal(err)
	}

	mgr.GetLogger().Error(context.Canceled, "before anything runs")
	if level := said(t, out, "", "before anything runs", "context canceled"); level != "ERROR" {
		t.Errorf("what is said before the start is at level %v", level)
	}
	stop := start(t, mgr)
	<-waiting
	const failed = "Reconciler error"
	for _, want := range []struct{ controller, message, err, level string }{
		{"conflicting", failed, errModified.Error(), "INFO"},
		{"without-builder", failed, errModified.Error(), "INFO"},
		{"speaking", "cluster is waiting on sync for extended duration", errWaiting.Error(), "INFO"},
		{"broken", failed, "broken", "ERROR"},
		{"giving-up", failed, "of its own accord: context canceled", "ERROR"},
	} {
		if level := said(t, out, want.controller, want.message, want.err); level != want.level {
			t.Errorf("%s is said at level %v, want %s", want.controller, level, want.level)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("the manager ended with %v", err)
	}
	if level := said(t, out, "interrupted", failed, "listing: context canceled"); level != "INFO" {
		t.Errorf("what the end interrupts is said at level %v", level)
	}
}

// A Runnable that fails ends the manager, as the watch on the Lease does when another replica leads.
func TestAManagerThatFailsEnds(t *testing.T) {
	out := &output{}
	mgr := newManager(t, out, nil)
	waiting := make(chan struct{})
	err := controllerruntime.NewControllerManagedBy(mgr).Named("interrupted-by-failure").WatchesRawSource(singleton.Source()).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			close(waiting)
			<-ctx.Done()
			return reconcile.Result{}, ctx.Err()
		}))
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(context.Context) error { <-waiting; return errBroken })); err != nil {
		t.Fatal(err)
	}
	if err := mgr.Start(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("the manager ended with %v", err)
	}
	if level := said(t, out, "interrupted-by-failure", "Reconciler error", "context canceled"); level != "INFO" {
		t.Errorf("what the end interrupts is said at level %v", level)
	}
}

func TestTheElectorWritesThroughIt(t *testing.T) {
	out := &output{}
	errTaken := apierrors.NewAlreadyExists(leases, "a")
	lease, renew, retry := 3*time.Second, 2*time.Second, 100*time.Millisecond
	mgr := newManager(t, out, func(options *manager.Options) {
		options.LeaderElection, options.LeaderElectionID = true, "a"
		options.LeaderElectionResourceLockInterface = takenLock{create: errTaken}
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &lease, &renew, &retry
	})
	stop := start(t, mgr)
	if level := said(t, out, "", "Error initially creating lease lock", errTaken.Error()); level != "INFO" {
		t.Errorf("a Lease that another has made is said at level %v", level)
	}
	if err := stop(); err != nil {
		t.Errorf("the manager ended with %v", err)
	}
	// The one line at each end that stays: it is the manager's own.
	if level := said(t, out, "", "error received after stop sequence was engaged", "leader election lost"); level != "ERROR" {
		t.Errorf("controller-runtime says at level %v that the election has ended: take that out of the end-to-end tests' list", level)
	}
}

// takenLock is a Lease that others make between the read and the write.
type takenLock struct {
	resourcelock.Interface
	create error
}

func (takenLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return nil, nil, apierrors.NewNotFound(leases, "a")
}

func (l takenLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.create }
func (takenLock) Identity() string                                                  { return "a" }
func (takenLock) Describe() string                                                  { return "a" }
func (takenLock) RecordEvent(string)                                                {}
