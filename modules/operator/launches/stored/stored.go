// Package stored keeps the results of failed launches over a restart: pauses, refusals that a user has to end, and plans that cannot be
// bought. Without them a restarted process would at once repeat purchases that cannot succeed.
//
// Each kind is an annotation of the ConfigMap with the learned capacity, which the chart makes and the operator may get and update. The
// leader's Keeper reads the annotations when the process begins to lead, seconds before the engines buy anything. Then it compares the
// Memory with the stored annotations each second. A comparison without a difference makes no request; a change is stored within a second
// or two. A crash loses the changes of this time, and each costs one refused launch.
//
// Without the ConfigMap, or without the right to it, the results last as long as the process. Then a Memory that has results costs one
// request a second, and a ConfigMap that is made later gets the results.
//
// An annotation has at most 80 KiB. If a list needs more, its last values are left out: they last as long as the process, and after a
// restart each costs one refused launch. An annotation that is not valid counts as missing; the first Save replaces or removes it.
//
// Package cmd/controller runs a Keeper on the leader; explain reads the same annotations with Read. Times are UTC, in whole seconds.
package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// The annotations, one for each part of a State, in JSON. Versions before this one read the same.
const (
	PausesAnnotation   = "karpenter.k8s.linode/launch-pauses"
	RefusalsAnnotation = "karpenter.k8s.linode/refused-launches"
	RestsAnnotation    = "karpenter.k8s.linode/unavailable-plans"
)

// interval is the time between two comparisons of the Memory with the stored annotations. A comparison makes no request.
const interval = time.Second

// budget bounds one annotation, in bytes. The API server refuses an object with more than 256 KiB of annotations, and then no pause of
// any NodePool would be stored.
const budget = 80 << 10

// Keeper carries a Memory over a restart. It is a Runnable of controller-runtime's manager, which starts it on the leader only. Load, Save
// and Start are not safe for concurrent use; the Memory is.
type Keeper struct {
	reader    client.Reader
	writer    client.Writer
	configMap types.NamespacedName
	memory    *launches.Memory
	stored    map[string]string // the annotations as they were last read or written
}

// Read returns the State that annotations have. If an annotation is not valid JSON, its part of the State is empty, the other parts are
// complete, and the error names the annotation.
func Read(annotations map[string]string) (s launches.State, err error) {
	return s, errors.Join(read(annotations, PausesAnnotation, &s.Pauses), read(annotations, RefusalsAnnotation, &s.Refusals),
		read(annotations, RestsAnnotation, &s.Rests))
}

func read[T any](annotations map[string]string, name string, into *[]T) error {
	text := annotations[name]
	if text == "" {
		return nil
	}
	var all []T
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return fmt.Errorf("annotation %s: %w", name, err)
	}
	*into = all
	return nil
}

// annotated returns the annotations of a State. The annotation of an empty part is empty.
func annotated(s launches.State) (map[string]string, error) {
	pauses, err := listed(s.Pauses)
	refusals, refusalsErr := listed(s.Refusals)
	rests, restsErr := listed(s.Rests)
	return map[string]string{PausesAnnotation: pauses, RefusalsAnnotation: refusals, RestsAnnotation: rests},
		errors.Join(err, refusalsErr, restsErr)
}

// listed returns a list in JSON, "" if it is empty. If the list exceeds the budget, its last values are left out. After a restart, each
// of these values costs one refused launch.
func listed[T any](all []T) (string, error) {
	var text []byte
	for _, one := range all {
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
func New(reader client.Reader, writer client.Writer, configMap types.NamespacedName, memory *launches.Memory) *Keeper {
	return &Keeper{reader: reader, writer: writer, configMap: configMap, memory: memory, stored: map[string]string{}}
}

// Start calls Load once, and then Save each second until ctx ends. It logs their errors, and returns nil. After an error of Load the
// process begins without the stored results; an annotation stays in the ConfigMap until the first change of its kind replaces it.
func (k *Keeper) Start(ctx context.Context) error {
	if err := k.Load(ctx); err != nil {
		log.FromContext(ctx).Error(err, "could not read the results of failed launches; starting without them", "ConfigMap", k.configMap)
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := k.Save(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "could not store the results of failed launches; trying again", "ConfigMap", k.configMap)
		}
	}, interval)
	return nil
}

// Load imports the records that the previous leader has stored. It returns nil if the ConfigMap does not exist, if the operator may not
// read it, or if an annotation is not valid. It returns every other error of the read.
func (k *Keeper) Load(ctx context.Context) error {
	configMap := &corev1.ConfigMap{}
	if err := k.reader.Get(ctx, k.configMap, configMap); err != nil {
		return unusable(err)
	}
	for _, name := range []string{PausesAnnotation, RefusalsAnnotation, RestsAnnotation} {
		k.stored[name] = configMap.Annotations[name]
	}
	state, _ := Read(k.stored) // an unreadable record is written anew
	k.memory.Import(state)
	return nil
}

// Save writes the annotations that differ from the annotations that were last read or written, in one update. An annotation without values
// is removed. If another client changes the ConfigMap between Save's read and its update, the API server answers 409; Save reads again,
// keeps the other client's change, and tries again, five attempts in all. It returns nil if the ConfigMap does not exist or the operator
// has no right to it. After every error the next Save tries again.
func (k *Keeper) Save(ctx context.Context) error {
	changed, err := annotated(k.memory.Export())
	if err != nil {
		return err
	}
	maps.DeleteFunc(changed, func(name, text string) bool { return text == k.stored[name] })
	if len(changed) == 0 {
		return nil
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
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

// unusable returns nil for an absent ConfigMap, and for a ConfigMap that the operator may not use.
func unusable(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
