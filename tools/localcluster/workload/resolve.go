package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Sources gives the objects that a container's environment may name, from the
// pod's namespace. An object that does not exist is a NotFound API error.
type Sources interface {
	ConfigMap(ctx context.Context, name string) (map[string]string, error)
	Secret(ctx context.Context, name string) (map[string][]byte, error)
}

// Command is what to run.
type Command struct {
	Command []string // the container's entry point; empty = the image's
	Args    []string
	Env     []string // NAME=value, sorted by name
}

// Resolve works out the command of a container of the pod. node, which may be
// nil, is asked for resources that the container has no limit for.
func Resolve(ctx context.Context, pod *corev1.Pod, container string, node *corev1.Node, sources Sources) (Command, error) {
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	if at < 0 {
		return Command{}, fmt.Errorf("pod %s has no container %q", pod.Name, container)
	}
	r := resolver{pod: pod, container: &pod.Spec.Containers[at], node: node, sources: sources, env: map[string]string{}}
	if err := r.environment(ctx); err != nil {
		return Command{}, fmt.Errorf("container %s: %w", container, err)
	}
	command := Command{Command: r.expandAll(r.container.Command), Args: r.expandAll(r.container.Args)}
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		command.Env = append(command.Env, name+"="+r.env[name])
	}
	return command, nil
}

type resolver struct {
	pod       *corev1.Pod
	container *corev1.Container
	node      *corev1.Node
	sources   Sources
	env       map[string]string
}

func (r *resolver) environment(ctx context.Context) error {
	for _, from := range r.container.EnvFrom {
		if err := r.addAll(ctx, from); err != nil {
			return err
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

// addAll takes every key of a ConfigMap or Secret as a variable.
func (r *resolver) addAll(ctx context.Context, from corev1.EnvFromSource) error {
	switch {
	case from.ConfigMapRef != nil:
		data, err := r.sources.ConfigMap(ctx, from.ConfigMapRef.Name)
		if absent(err, from.ConfigMapRef.Optional) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("envFrom: ConfigMap %s: %w", from.ConfigMapRef.Name, err)
		}
		for key, value := range data {
			r.env[from.Prefix+key] = value
		}
	case from.SecretRef != nil:
		data, err := r.sources.Secret(ctx, from.SecretRef.Name)
		if absent(err, from.SecretRef.Optional) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("envFrom: Secret %s: %w", from.SecretRef.Name, err)
		}
		for key, value := range data {
			r.env[from.Prefix+key] = string(value)
		}
	}
	return nil
}

// value is a variable's value; not present when an optional reference leads
// nowhere.
func (r *resolver) value(ctx context.Context, variable corev1.EnvVar) (value string, present bool, err error) {
	from := variable.ValueFrom
	switch {
	case from == nil:
		return expand(variable.Value, r.env), true, nil
	case from.ConfigMapKeyRef != nil:
		return r.configMapKey(ctx, from.ConfigMapKeyRef)
	case from.SecretKeyRef != nil:
		return r.secretKey(ctx, from.SecretKeyRef)
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

func (r *resolver) configMapKey(ctx context.Context, ref *corev1.ConfigMapKeySelector) (string, bool, error) {
	data, err := r.sources.ConfigMap(ctx, ref.Name)
	if absent(err, ref.Optional) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("ConfigMap %s: %w", ref.Name, err)
	}
	value, found := data[ref.Key]
	if !found && !optional(ref.Optional) {
		return "", false, fmt.Errorf("ConfigMap %s has no key %q", ref.Name, ref.Key)
	}
	return value, found, nil
}

func (r *resolver) secretKey(ctx context.Context, ref *corev1.SecretKeySelector) (string, bool, error) {
	data, err := r.sources.Secret(ctx, ref.Name)
	if absent(err, ref.Optional) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("Secret %s: %w", ref.Name, err)
	}
	value, found := data[ref.Key]
	if !found && !optional(ref.Optional) {
		return "", false, fmt.Errorf("Secret %s has no key %q", ref.Name, ref.Key)
	}
	return string(value), found, nil
}

func optional(flag *bool) bool { return flag != nil && *flag }

func absent(err error, flag *bool) bool { return apierrors.IsNotFound(err) && optional(flag) }

func (r *resolver) expandAll(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, expand(text, r.env))
	}
	return out
}
