// Package stored keeps the results of failed launches over a restart: pauses, refusals that a user has to end, and plans that cannot be
// bought. Without them a restarted process would at once repeat purchases that cannot succeed.
//
// Each kind is an annotation of the ConfigMap with the learned capacity, which the chart makes and the operator may get and update. The
// leader reads the annotations when it begins, seconds before the engines buy anything. It writes a change within a second or two.
// Without the ConfigMap, or without the right to it, the results last as long as the process. An annotation that cannot be read counts as
// missing.
package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The annotations, in JSON.
const (
	Annotation        = "karpenter.k8s.linode/launch-pauses"
	RefusedAnnotation = "karpenter.k8s.linode/refused-launches"
	PlansAnnotation   = "karpenter.k8s.linode/unavailable-plans"
)

// interval is between two looks for changes, which cost no request.
const interval = time.Second

// Keeper carries its sources over a restart. It is a Runnable of controller-runtime's manager, for the leader.
type Keeper struct {
	reader    client.Reader
	writer    client.Writer
	configMap types.NamespacedName
	sources   []Source
	stored    map[string]string // the annotations as they were last read or written
}

// A Source has the records under one annotation.
type Source struct {
	annotation string
	export     func() (string, error) // "" = there is nothing to keep
	take       func(text string)
}

// budget is how long the text of one Source may be, in bytes. The API server takes 256 KiB for all annotations of an object and refuses the
// object otherwise, with the pauses of every NodePool in it.
const budget = 80 << 10

// Of returns a Source of values that are stored in JSON. export returns them in a fixed order; values beyond the budget are left out,
// the last ones, which costs one refused launch for each after a restart.
func Of[T any](annotation string, export func() []T, take func([]T)) Source {
	return Source{annotation: annotation,
		export: func() (string, error) {
			var text []byte
			for _, one := range export() {
				value, err := compact(one)
				if err != nil {
					return "", err
				}
				if len(text)+len(value)+2 > budget {
					break
				}
				text = append(append(text, ','), value...)
			}
			if len(text) == 0 {
				return "", nil
			}
			text[0] = '['
			return string(text) + "]", nil
		},
		take: func(text string) {
			var all []T
			if json.Unmarshal([]byte(text), &all) == nil {
				take(all)
			}
		}}
}

// compact returns a value in JSON without the escapes that HTML needs.
func compact(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(text.Bytes(), "\n"), err
}

// New returns a Keeper. reader must read from the API server.
func New(reader client.Reader, writer client.Writer, configMap types.NamespacedName, sources ...Source) *Keeper {
	return &Keeper{reader: reader, writer: writer, configMap: configMap, sources: sources, stored: map[string]string{}}
}

// Start reads the stored values and keeps them until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	if err := k.Load(ctx); err != nil {
		log.FromContext(ctx).Error(err, "could not read what failed launches have shown; beginning without", "ConfigMap", k.configMap)
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := k.Save(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "could not keep what failed launches have shown; trying again", "ConfigMap", k.configMap)
		}
	}, interval)
	return nil
}

// Load takes up what the process before has stored.
func (k *Keeper) Load(ctx context.Context) error {
	configMap := &corev1.ConfigMap{}
	if err := k.reader.Get(ctx, k.configMap, configMap); err != nil {
		return unusable(err)
	}
	for _, source := range k.sources {
		k.stored[source.annotation] = configMap.Annotations[source.annotation]
		source.take(k.stored[source.annotation])
	}
	return nil
}

// Save writes what has changed.
func (k *Keeper) Save(ctx context.Context) error {
	changed := map[string]string{}
	for _, source := range k.sources {
		text, err := source.export()
		if err != nil {
			return err
		}
		if text != k.stored[source.annotation] {
			changed[source.annotation] = text
		}
	}
	if len(changed) == 0 {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap := &corev1.ConfigMap{}
		if err := k.reader.Get(ctx, k.configMap, configMap); err != nil {
			return err
		}
		for annotation, text := range changed {
			metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, annotation, text)
			if text == "" {
				delete(configMap.Annotations, annotation)
			}
		}
		return k.writer.Update(ctx, configMap)
	})
	if err == nil {
		maps.Copy(k.stored, changed)
	}
	return unusable(err)
}

// unusable makes an absent ConfigMap, and one that may not be used, no error.
func unusable(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
