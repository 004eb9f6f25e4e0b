package severity_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awslabs/operatorpkg/serrors"
	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/multierr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	corecloudprovider "sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/severity"
)

var (
	nodes     = schema.GroupResource{Resource: "nodes"}
	nodePools = schema.GroupResource{Group: "karpenter.sh", Resource: "NodePool"} // as the cache says it
	leases    = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

	errBroken   = errors.New("broken")
	errModified = apierrors.NewConflict(nodes, "a", errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	errGone     = serrors.Wrap(apierrors.NewNotFound(nodePools, "default"), "nodepool", "default")
	errOverlays = fmt.Errorf("applying nodeoverlays, %w", corecloudprovider.NewUnevaluatedNodePoolError("default"))
	errPatch    = &url.Error{Op: "Patch", URL: "https://10.0.0.1/api/v1/nodes/a", Err: context.Canceled}
	errWaiting  = errors.New("waiting on cluster sync")
)

// launch is how core returns the error of a claim.
func launch(kind lkepool.Kind, cause error) error {
	claim := fmt.Errorf("claiming a g6-standard-1: %w", &lkepool.Error{Kind: kind, Op: "claim", Err: cause})
	return fmt.Errorf("launching nodeclaim, %w", corecloudprovider.NewCreateError(claim, string(kind), "The node is on its way"))
}

func TestWhatResolvesByItselfIsNoError(t *testing.T) {
	managers := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict, Code: 409,
		Message: `Apply failed with 1 conflict: conflict with "kubectl": .spec.taints`}}
	deleted := apierrors.NewConflict(nodes, "a", errors.New("Precondition failed: UID in precondition: 1, UID in object meta: 2"))
	late := launch(lkepool.KindProvisioning, fmt.Errorf("no node yet: %w", context.DeadlineExceeded))
	limited := fmt.Errorf("client rate limiter Wait returned an error: %w", context.Canceled)
	const failed, overlays, unsynced, evicted = "Reconciler error", "skipping, node overlays are not applied", "cluster is waiting on sync for extended duration",
		"node has no nodeclaim, failed looking up pod eviction reason"

	for name, test := range map[string]struct {
		controller, message string
		err                 error
		stopping            bool
		level, resolves     string
	}{
		"a conflict":                           {message: failed, err: errModified, level: "INFO", resolves: "somebody else wrote the object first"},
		"a wrapped conflict":                   {message: failed, err: fmt.Errorf("tainting node a: %w", errModified), level: "INFO", resolves: "somebody else"},
		"several conflicts, joined":            {message: failed, err: errors.Join(errModified, errModified), level: "INFO", resolves: "somebody else"},
		"several conflicts, appended":          {message: failed, err: multierr.Append(errModified, errModified), level: "INFO", resolves: "somebody else"},
		"several conflicts, aggregated":        {message: failed, err: kerrors.NewAggregate([]error{errModified, errModified}), level: "INFO", resolves: "somebody else"},
		"a conflict and another error":         {message: failed, err: errors.Join(errModified, errBroken), level: "ERROR"},
		"another error and a conflict":         {message: failed, err: multierr.Append(errBroken, errModified), level: "ERROR"},
		"an aggregate with another error":      {message: failed, err: kerrors.NewAggregate([]error{errModified, errBroken}), level: "ERROR"},
		"another error deep in an aggregate":   {message: failed, err: fmt.Errorf("patching: %w", errors.Join(errModified, fmt.Errorf("a: %w", errors.Join(errModified, errBroken)))), level: "ERROR"},
		"a conflict that is not tried again":   {message: failed, err: reconcile.TerminalError(errModified), level: "ERROR"},
		"a conflict told by text alone":        {message: failed, err: errors.New(errModified.Error()), level: "ERROR"},
		"a conflict in another message":        {message: "failed launching nodeclaim", err: errModified, level: "ERROR"},
		"a conflict's words":                   {message: failed, err: apierrors.NewBadRequest(errModified.Error()), level: "ERROR"},
		"a conflict of field managers":         {message: failed, err: managers, level: "ERROR"},
		"a conflict of preconditions":          {message: failed, err: deleted, level: "ERROR"},
		"an object that exists":                {message: failed, err: apierrors.NewAlreadyExists(nodes, "a"), level: "ERROR"},
		"an error that wraps nothing":          {message: failed, err: errBroken, level: "ERROR"},
		"an error that joins nothing":          {message: failed, err: multiple{}, level: "ERROR"},
		"no error at all":                      {message: failed, level: "ERROR"},
		"a node on its way":                    {message: failed, err: late, level: "INFO", resolves: "LKE is making the node"},
		"a node on its way, and a conflict":    {message: failed, err: multierr.Append(late, errModified), level: "INFO", resolves: "LKE is making the node; the next attempt finds it; somebody else"},
		"a node on its way, and another error": {message: failed, err: multierr.Append(late, errBroken), level: "ERROR"},
		"the API does not answer":              {message: failed, err: launch(lkepool.KindUnavailable, context.DeadlineExceeded), level: "ERROR"},
		"the API refuses":                      {message: failed, err: launch(lkepool.KindForbidden, errBroken), level: "ERROR"},
		"an instance that is not released":     {message: failed, err: &lkepool.Error{Kind: lkepool.KindProvisioning, Op: "release", Err: errBroken}, level: "ERROR"},
		"a NodePool that is gone":              {controller: "state.nodeclaim", message: failed, err: errGone, level: "INFO", resolves: "the NodePool was deleted"},
		"a NodePool gone at the API server": {controller: "state.nodeclaim", message: failed, level: "INFO", resolves: "the NodePool was deleted",
			err: apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.sh", Resource: "nodepools"}, "default")},
		"a NodePool gone elsewhere":       {controller: "provisioner", message: failed, err: errGone, level: "ERROR"},
		"a NodePool that may not be read": {controller: "state.nodeclaim", message: failed, err: apierrors.NewForbidden(nodePools, "default", errBroken), level: "ERROR"},
		"a NodePool of another group": {controller: "state.nodeclaim", message: failed, level: "ERROR",
			err: apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "NodePool"}, "default")},
		"a NodeClaim that is gone": {controller: "state.nodeclaim", message: failed, level: "ERROR",
			err: apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.sh", Resource: "NodeClaim"}, "default-a")},
		"a class that is gone": {controller: "state.nodeclaim", message: failed, level: "ERROR",
			err: apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.k8s.linode", Resource: "LinodeNodeClass"}, "default")},
		"overlays not evaluated":            {controller: "disruption", message: overlays, err: errOverlays, level: "INFO", resolves: "NodeOverlays are being evaluated"},
		"overlays not evaluated, returned":  {message: failed, err: fmt.Errorf("getting drift, %w", errOverlays), level: "INFO", resolves: "NodeOverlays are being evaluated"},
		"overlays with another error":       {controller: "disruption", message: overlays, err: errBroken, level: "ERROR"},
		"overlays in another message":       {message: "skipping, unable to resolve instance types", err: errOverlays, level: "ERROR"},
		"not synced":                        {controller: "disruption", message: unsynced, err: errWaiting, level: "INFO", resolves: "NodeClaims wait for their instances"},
		"not synced for another reason":     {controller: "disruption", message: unsynced, err: errBroken, level: "ERROR"},
		"not synced, without a reason":      {controller: "disruption", message: unsynced, level: "ERROR"},
		"a wait for sync, another message":  {message: "failed checking cluster state sync", err: errWaiting, level: "ERROR"},
		"a NodePool not ready":              {controller: "provisioner", message: "ignoring nodepool, not ready", level: "INFO", resolves: "the NodePool's conditions"},
		"a NodePool not ready, with a word": {controller: "provisioner", message: "ignoring nodepool, not ready", err: errBroken, level: "ERROR"},
		"an eviction for no reason known":   {message: evicted, err: nodeutils.NewNodeClaimNotFoundError("linode://1"), level: "INFO", resolves: "the pod was evicted"},
		"an eviction with another error":    {message: evicted, err: nodeutils.NewDuplicateNodeClaimError("linode://1"), level: "ERROR"},
		"a Lease made by another":           {message: "Error initially creating lease lock", err: apierrors.NewAlreadyExists(leases, "a"), level: "INFO", resolves: "another replica was faster"},
		"a Lease that may not be made":      {message: "Error initially creating lease lock", err: apierrors.NewForbidden(leases, "a", errBroken), level: "ERROR"},
		"a Lease written by another":        {message: "Failed to update lease", err: errModified, level: "INFO", resolves: "another replica wrote the Lease"},
		"a Lease written by another leader": {message: "Failed to update lease optimistically, falling back to slow path", err: errModified, level: "INFO", resolves: "another replica wrote the Lease"},
		"a Lease that was not written":      {message: "Failed to update lease optimistically, falling back to slow path", err: context.DeadlineExceeded, level: "ERROR"},
		"a Lease that was not released":     {message: "Failed to release lease", err: errModified, level: "ERROR"},
		"interrupted at the end":            {message: failed, err: errPatch, stopping: true, level: "INFO", resolves: "the process ends"},
		"interrupted, in core's words":      {message: "failed computing consolidation", err: fmt.Errorf("scheduling pods, %w", context.Canceled), stopping: true, level: "INFO", resolves: "the process ends"},
		"interrupted twice":                 {message: failed, err: multierr.Append(limited, errPatch), stopping: true, level: "INFO", resolves: "the process ends"},
		"interrupted, node on its way":      {message: failed, err: multierr.Append(late, limited), stopping: true, level: "INFO", resolves: "LKE is making the node; the next attempt finds it; the process ends"},
		"interrupted, and another error":    {message: failed, err: multierr.Append(errPatch, errBroken), stopping: true, level: "ERROR"},
		"interrupted while nothing ends":    {message: failed, err: errPatch, level: "ERROR"},
		"a deadline at the end":             {message: failed, err: context.DeadlineExceeded, stopping: true, level: "ERROR"},
		"another error at the end":          {message: failed, err: errBroken, stopping: true, level: "ERROR"},
		"canceled by text alone":            {message: failed, err: errors.New("context canceled"), stopping: true, level: "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			var plain, got output
			write := func(logger logr.Logger) {
				logger = logger.WithValues("controller", test.controller, "name", "a").WithName("x")
				logger.WithValues("reconcileID", "1").Error(test.err, test.message, "duration", "31s")
			}
			write(plain.logger("info"))
			write(severity.Logger(got.logger("info"), func() bool { return test.stopping }))

			want := plain.only(t)
			if want["level"] = test.level; test.level == "INFO" {
				resolves, _ := got.only(t)["resolves"].(string)
				if !strings.HasPrefix(resolves, test.resolves) {
					t.Errorf("it resolves because %q, want %q", resolves, test.resolves)
				}
				want["resolves"] = resolves
			}
			if have := got.only(t); !maps.EqualFunc(have, want, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
				t.Errorf("written: %v\nwant:    %v", have, want)
			}
		})
	}
}

// multiple joins no errors, as nobody should.
type multiple struct{}

func (multiple) Error() string   { return "nothing" }
func (multiple) Unwrap() []error { return nil }

func TestOtherLinesPass(t *testing.T) {
	var got output
	logger := severity.Logger(got.logger("debug"), never)
	logger.Info("said", "a", 1)
	logger.V(1).Info("said in detail")
	if !logger.V(1).Enabled() || logger.V(2).Enabled() {
		t.Error("the level is not that of the logger below")
	}
	lines := got.lines(t)
	if len(lines) != 2 || lines[0]["level"] != "INFO" || lines[0]["a"] != 1.0 || lines[1]["level"] != "DEBUG" {
		t.Errorf("written: %v", lines)
	}
}

func TestWhoeverWantsErrorsOnlyGetsThoseAlone(t *testing.T) {
	var got output
	logger := severity.Logger(got.logger("error"), never)
	logger.Error(errModified, "Reconciler error")
	logger.Error(errBroken, "Reconciler error")
	if line := got.only(t); line["error"] != "broken" {
		t.Errorf("written: %v", line)
	}

	// zapr looks again whether its level is enabled; that is not asked of a sink.
	var all output
	logger = severity.Logger(logr.New(errorsOnly{all.logger("info").GetSink()}), never)
	logger.Error(errModified, "Reconciler error")
	if lines := all.lines(t); len(lines) != 0 {
		t.Errorf("written: %v", lines)
	}
}

type errorsOnly struct{ logr.LogSink }

func (errorsOnly) Enabled(int) bool { return false }

func (e errorsOnly) WithValues(keysAndValues ...any) logr.LogSink {
	return errorsOnly{e.LogSink.WithValues(keysAndValues...)}
}

// A value that is changed in the caller's slice would be a value of another line.
func TestValuesOfTheCallerAreNotTouched(t *testing.T) {
	var got output
	values := append(make([]any, 0, 8), "a", 1)
	severity.Logger(got.logger("info"), never).Error(errModified, "Reconciler error", values...)
	if beyond := values[:cap(values)]; slices.ContainsFunc(beyond[2:], func(v any) bool { return v != nil }) {
		t.Errorf("written into the caller's slice: %v", beyond)
	}
}

func TestTheCallerIsNamed(t *testing.T) {
	var got output
	below := got.logger("info")
	logger := severity.Logger(below, never)
	logger.Info("said")
	logger.Error(errModified, "Reconciler error")
	logger.WithValues("controller", "a").Error(errBroken, "Reconciler error")
	below.Info("said below, where nothing has changed")
	for _, line := range got.lines(t) {
		if caller, _ := line["caller"].(string); !strings.HasPrefix(filepath.Base(caller), "severity_test.go:") {
			t.Errorf("the caller of %q is %s", line["message"], caller)
		}
	}

	var counted output // core's sinks do not count frames; zapr's does
	deep := func(logger logr.Logger) { logger.WithCallDepth(1).Error(errModified, "Reconciler error") }
	for _, logger := range []logr.Logger{zapr.NewLogger(counted.zap("info")), severity.Logger(zapr.NewLogger(counted.zap("info")), never)} {
		deep(logger)
	}
	if lines := counted.lines(t); lines[0]["caller"] != lines[1]["caller"] {
		t.Errorf("the callers are %s and %s", lines[0]["caller"], lines[1]["caller"])
	}
}

func TestALoggerThatDiscardsStaysOne(t *testing.T) {
	severity.Logger(logr.Discard(), never).Error(errModified, "Reconciler error")
}

func never() bool { return false }

// output is where a test's loggers write.
type output struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (l *output) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.content.Write(line)
}

func (*output) Sync() error { return nil }

// logger is made as core makes that of its manager.
func (l *output) logger(level string) logr.Logger {
	return logging.IgnoreDebugEvents(serrors.NewLogger(zapr.NewLogger(l.zap(level))))
}

func (l *output) zap(level string) *zap.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.MessageKey, encoder.EncodeLevel, encoder.TimeKey = "message", zapcore.CapitalLevelEncoder, ""
	at, err := zapcore.ParseLevel(level)
	if err != nil {
		panic(err)
	}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), l, at), zap.AddCaller())
}

func (l *output) lines(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []map[string]any
	for decoder := json.NewDecoder(bytes.NewReader(l.content.Bytes())); decoder.More(); {
		line := map[string]any{}
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func (l *output) only(t *testing.T) map[string]any {
	t.Helper()
	lines := l.lines(t)
	if len(lines) != 1 {
		t.Fatalf("%d lines, want one: %v", len(lines), lines)
	}
	delete(lines[0], "stacktrace")
	return lines[0]
}
