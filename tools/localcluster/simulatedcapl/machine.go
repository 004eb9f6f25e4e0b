package simulatedcapl

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Names in CAPL's objects (api/v1alpha2/linodemachine_types.go, internal/controller/linodemachine_controller.go, util/errors.go).
const (
	finalizer           = "linodemachine.infrastructure.cluster.x-k8s.io"
	bootstrapCondition  = "PreflightBootstrapDataSecretReady"
	createdCondition    = "PreflightCreated"
	configuredCondition = "PreflightConfigured"
	bootCondition       = "PreflightBootTriggered"
	addressCondition    = "PreflightReady"
	readyCondition      = "Ready"
	failed              = "CreateError"
	providerPrefix      = "linode://"
)

// machines makes, follows and deletes the Linodes of LinodeMachines.
type machines struct {
	kube    client.Client
	secrets client.Reader // without a cache
	linode  account
	delay   time.Duration
}

// pass is one reconciliation of a LinodeMachine.
type pass struct {
	*machines
	self    *unstructured.Unstructured // the LinodeMachine
	machine *unstructured.Unstructured
	spec    linodeSpec
}

func (r *machines) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	self := object(infrastructure, "LinodeMachine")
	if err := r.kube.Get(ctx, request.NamespacedName, self); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	machine, err := owner(ctx, r.kube, self, "Machine")
	if err != nil || machine == nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{machines: r, self: self, machine: machine}
	spec, _, _ := unstructured.NestedMap(self.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &p.spec); err != nil {
		return reconcile.Result{}, err
	}
	before := self.DeepCopy()
	controllerutil.AddFinalizer(self, finalizer)
	after, err := p.run(ctx)
	if err == nil {
		err = r.write(ctx, before, self)
	}
	return reconcile.Result{RequeueAfter: after}, client.IgnoreNotFound(err)
}

// write patches spec and metadata, and then the status, if the pass changed the object. If a patch fails, the pass runs again, and finds
// its Linode by the label.
func (r *machines) write(ctx context.Context, before, self *unstructured.Unstructured) error {
	if equality.Semantic.DeepEqual(before, self) {
		return nil // so in most passes; a patch without content costs the API server as much as any other patch
	}
	status := self.DeepCopy()
	if err := r.kube.Patch(ctx, self, client.MergeFrom(before)); err != nil || status.GetDeletionTimestamp() != nil {
		return err
	}
	status.SetResourceVersion("")
	from := before.DeepCopy()
	from.SetResourceVersion("")
	return r.kube.Status().Patch(ctx, status, client.MergeFrom(from))
}

// run takes the next step, and returns the time until the next pass; 0 = the next pass is after a change of an object.
func (p *pass) run(ctx context.Context) (time.Duration, error) {
	if p.self.GetDeletionTimestamp() != nil {
		return p.remove(ctx)
	}
	secret := text(p.machine, "spec", "bootstrap", "dataSecretName")
	if secret == "" {
		p.condition(bootstrapCondition, metav1.ConditionFalse, "WaitingForBootstrapData", "")
		return 0, nil
	}
	p.condition(bootstrapCondition, metav1.ConditionTrue, "BootstrapDataSecretReady", "")
	if text(p.self, "status", "instanceState") != "" {
		return p.follow(ctx)
	}
	if p.spec.ProviderID == "" {
		if after, made := p.create(ctx, secret); !made {
			return after, nil
		}
	}
	id, err := p.linodeID()
	if err != nil {
		return 0, err
	}
	for _, step := range []struct {
		condition string
		do        func(context.Context, int) error
	}{{configuredCondition, p.linode.helpNetwork}, {bootCondition, p.linode.boot}, {addressCondition, p.addresses}} {
		if p.has(step.condition) {
			continue
		}
		if err := step.do(ctx, id); err != nil {
			p.condition(step.condition, metav1.ConditionFalse, failed, worded(err).Error())
			return p.delay, nil
		}
		p.condition(step.condition, metav1.ConditionTrue, "LinodeMachine"+step.condition, "")
	}
	_ = unstructured.SetNestedField(p.self.Object, string(api.InstanceStatusOffline), "status", "instanceState")
	return p.delay, nil
}

// create makes the Linode. After a refusal that is final, the next pass is after a change of an object.
func (p *pass) create(ctx context.Context, secret string) (after time.Duration, made bool) {
	data := &corev1.Secret{}
	err := p.secrets.Get(ctx, client.ObjectKey{Namespace: p.self.GetNamespace(), Name: secret}, data)
	var instance api.Instance
	if err == nil {
		tags := append(slices.Clone(p.spec.Tags), text(p.machine, "spec", "clusterName"))
		instance, err = p.linode.create(ctx, p.self.GetName(), p.spec, tags, data.Data["value"])
	}
	if err == nil {
		p.spec.ProviderID = providerPrefix + strconv.Itoa(instance.ID)
		_ = unstructured.SetNestedField(p.self.Object, p.spec.ProviderID, "spec", "providerID")
		p.condition(createdCondition, metav1.ConditionTrue, "LinodeMachinePreflightCreated", "")
		return 0, true
	}
	p.condition(createdCondition, metav1.ConditionFalse, failed, worded(err).Error())
	switch again, limited := retryable(err); {
	case limited:
		return limitDelay, false
	case again:
		return retryDelay, false
	}
	return 0, false
}

// addresses writes the addresses of the Linode.
func (p *pass) addresses(ctx context.Context, id int) error {
	instance, err := p.linode.get(ctx, id)
	if err != nil {
		return err
	}
	var all []any
	for _, ip := range instance.IPv4 {
		kind := "ExternalIP"
		if strings.HasPrefix(ip, "192.168.") {
			kind = "InternalIP"
		}
		all = append(all, map[string]any{"type": kind, "address": ip})
	}
	return unstructured.SetNestedSlice(p.self.Object, all, "status", "addresses")
}

// follow writes the Linode's state. A Linode that is gone is not made again.
func (p *pass) follow(ctx context.Context) (time.Duration, error) {
	id, err := p.linodeID()
	if err != nil {
		return 0, err
	}
	instance, err := p.linode.get(ctx, id)
	if err != nil {
		if again, _ := retryable(err); again {
			return retryDelay, nil
		}
		return 0, nil
	}
	_ = unstructured.SetNestedField(p.self.Object, string(instance.Status), "status", "instanceState")
	if instance.Status != api.InstanceStatusRunning {
		return p.delay, nil
	}
	_ = unstructured.SetNestedField(p.self.Object, true, "status", "ready")
	p.condition(readyCondition, metav1.ConditionTrue, "LinodeMachineReady", "")
	return 0, nil
}

// remove deletes the Linode, and then removes the LinodeMachine's finalizer.
func (p *pass) remove(ctx context.Context) (time.Duration, error) {
	if p.spec.ProviderID != "" {
		id, err := p.linodeID()
		if err != nil {
			return 0, err
		}
		if err := p.linode.remove(ctx, id); err != nil {
			return retryDelay, nil //nolint:nilerr // CAPL logs it
		}
	}
	controllerutil.RemoveFinalizer(p.self, finalizer)
	return 0, nil
}

func (p *pass) linodeID() (int, error) {
	id, err := strconv.Atoi(strings.TrimPrefix(p.spec.ProviderID, providerPrefix))
	if err != nil {
		return 0, fmt.Errorf("spec.providerID of %s: %w", p.self.GetName(), err)
	}
	return id, nil
}

func (p *pass) has(condition string) bool {
	return meta.IsStatusConditionTrue(conditionsOf(p.self), condition)
}

func (p *pass) condition(kind string, is metav1.ConditionStatus, reason, message string) {
	setCondition(p.self, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message})
}

func conditionsOf(of *unstructured.Unstructured) []metav1.Condition {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	content, _, _ := unstructured.NestedMap(of.Object, "status")
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status) // this package has written them
	return status.Conditions
}

// setCondition sets a condition of an object.
func setCondition(of *unstructured.Unstructured, condition metav1.Condition) {
	all := conditionsOf(of)
	meta.SetStatusCondition(&all, condition)
	var list []any
	for _, c := range all {
		if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c); err == nil {
			list = append(list, content)
		}
	}
	_ = unstructured.SetNestedSlice(of.Object, list, "status", "conditions")
}
