package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// Command describes the process of a container.
type Command struct {
	Container *corev1.Container
	Command   []string // the container's entry point; empty = the image's
	Args      []string
	Env       []string // NAME=value, sorted by name
}

// Resolve computes the command of a container of the pod. node has the amounts of the
// resources for which the container has no limit; it may be nil.
func Resolve(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, container string, node *corev1.Node) (Command, error) {
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	if at < 0 {
		return Command{}, fmt.Errorf("pod %s has no container %q", pod.Name, container)
	}
	r := resolver{client: client, pod: pod, container: &pod.Spec.Containers[at], node: node, env: map[string]string{}}
	if err := r.environment(ctx); err != nil {
		return Command{}, fmt.Errorf("container %s: %w", container, err)
	}
	command := Command{Container: r.container, Command: r.expandAll(r.container.Command), Args: r.expandAll(r.container.Args)}
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		command.Env = append(command.Env, name+"="+r.env[name])
	}
	return command, nil
}

type resolver struct {
	client    kubernetes.Interface
	pod       *corev1.Pod
	container *corev1.Container
	node      *corev1.Node
	env       map[string]string
}

func (r *resolver) environment(ctx context.Context) error {
	for _, from := range r.container.EnvFrom {
		if err := r.addAll(ctx, from); err != nil {
			return fmt.Errorf("envFrom: %w", err)
		}
	}
	for _, variable := range r.container.Env {
		value, present, err := r.value(ctx, variable)
		if err != nil {
			return fmt.Errorf("variable %s: %w", variable.Name, err)
		}
		if present {
			r.env[variable.Name] = value
		}
	}
	return nil
}

// addAll adds a variable for every key of a ConfigMap or Secret.
func (r *resolver) addAll(ctx context.Context, from corev1.EnvFromSource) (err error) {
	var data map[string]string
	switch {
	case from.ConfigMapRef != nil:
		data, err = r.data(ctx, configMap, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		data, err = r.data(ctx, secret, from.SecretRef.Name, from.SecretRef.Optional)
	}
	for key, value := range data {
		r.env[from.Prefix+key] = value
	}
	return err
}

// value is a variable's value. present is false if an optional reference names a missing
// object or key.
func (r *resolver) value(ctx context.Context, variable corev1.EnvVar) (value string, present bool, err error) {
	from := variable.ValueFrom
	switch {
	case from == nil:
		return expand(variable.Value, r.env), true, nil
	case from.ConfigMapKeyRef != nil:
		return r.key(ctx, configMap, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		return r.key(ctx, secret, from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	case from.FieldRef != nil:
		value, err = field(r.pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = r.resource(from.ResourceFieldRef)
		return value, true, err
	default:
		return "", false, fmt.Errorf("its source is not understood")
	}
}

func (r *resolver) key(ctx context.Context, kind, name, key string, optional *bool) (string, bool, error) {
	data, err := r.data(ctx, kind, name, optional)
	if err != nil {
		return "", false, err
	}
	value, found := data[key]
	if !found && !ptr.Deref(optional, false) {
		return "", false, fmt.Errorf("%s %s has no key %q", kind, name, key)
	}
	return value, found, nil
}

// Kinds of objects that an environment may name.
const (
	configMap = "ConfigMap"
	secret    = "Secret"
)

// data returns the content of an object in the pod's namespace. An optional object that does not exist has no content.
func (r *resolver) data(ctx context.Context, kind, name string, optional *bool) (data map[string]string, err error) {
	data = map[string]string{}
	if kind == configMap {
		var object *corev1.ConfigMap
		if object, err = r.client.CoreV1().ConfigMaps(r.pod.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			data = object.Data
		}
	} else {
		var object *corev1.Secret
		if object, err = r.client.CoreV1().Secrets(r.pod.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			for key, value := range object.Data {
				data[key] = string(value)
			}
		}
	}
	switch {
	case apierrors.IsNotFound(err) && ptr.Deref(optional, false):
		return data, nil
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return data, nil
}

func (r *resolver) expandAll(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, expand(text, r.env))
	}
	return out
}
