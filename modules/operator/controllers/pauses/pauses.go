// Package pauses keeps the pauses after failed launches over a restart: without them a process that is started again buys plans whose nodes
// never join at once.
//
// They are an annotation of the ConfigMap in which learned capacity is kept, which the chart makes and the operator may get and update. The
// leader reads it when it begins and writes it when something has changed, a few seconds later. Without the ConfigMap, or the right to
// it, pauses are those of the process. What cannot be read counts as missing.
package pauses

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/backoff"
)

// Annotation has the pauses, in JSON.
const Annotation = "karpenter.k8s.linode/launch-pauses"

// interval is between two looks for changes.
const interval = 5 * time.Second

// Keeper carries pauses over a restart. It is a Runnable of controller-runtime's manager, for the leader.
type Keeper struct {
	reader    client.Reader
	writer    client.Writer
	backoff   *backoff.Backoff
	configMap types.NamespacedName
	stored    string // the annotation as it was last read or written
}

// New returns a Keeper. reader must read from the API server.
func New(reader client.Reader, writer client.Writer, pauses *backoff.Backoff, configMap types.NamespacedName) *Keeper {
	return &Keeper{reader: reader, writer: writer, backoff: pauses, configMap: configMap}
}

// Start takes up the pauses and keeps them until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	if err := k.Load(ctx); err != nil {
		log.FromContext(ctx).Error(err, "could not read the pauses after failed launches; beginning without", "ConfigMap", k.configMap)
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := k.Save(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "could not keep the pauses after failed launches; trying again", "ConfigMap", k.configMap)
		}
	}, interval)
	return nil
}

// Load takes up the pauses of the process before.
func (k *Keeper) Load(ctx context.Context) error {
	configMap := &corev1.ConfigMap{}
	if err := k.reader.Get(ctx, k.configMap, configMap); err != nil {
		return unusable(err)
	}
	k.stored = configMap.Annotations[Annotation]
	var all []backoff.Exported
	if json.Unmarshal([]byte(k.stored), &all) == nil {
		k.backoff.Import(all)
	}
	return nil
}

// Save writes the pauses if they have changed.
func (k *Keeper) Save(ctx context.Context) error {
	text := ""
	if all := k.backoff.Export(); len(all) > 0 {
		encoded, err := json.Marshal(all)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	if text == k.stored {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap := &corev1.ConfigMap{}
		if err := k.reader.Get(ctx, k.configMap, configMap); err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, Annotation, text)
		if text == "" {
			delete(configMap.Annotations, Annotation)
		}
		return k.writer.Update(ctx, configMap)
	})
	if err == nil {
		k.stored = text
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
