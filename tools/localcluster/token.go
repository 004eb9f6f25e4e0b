package localcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const (
	tokenLife  = 24 * time.Hour
	tokenRenew = tokenLife / 2
	tokenRetry = time.Minute
)

// serviceAccountKubeconfig writes a kubeconfig that acts as the ServiceAccount,
// with a token as a kubelet would project it, and keeps the token fresh until
// the cluster stops. Clients read the token's file again by themselves.
func (o *Operator) serviceAccountKubeconfig(ctx context.Context, namespace, name string, reader Program) (string, error) {
	c, dir := o.cluster, filepath.Join(reader.Dir, o.folder())
	kubeconfig, tokenFile := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	renew := func(ctx context.Context) error {
		return errors.Join(c.writeToken(ctx, namespace, name, tokenFile), reader.give(dir, tokenFile))
	}
	if err := renew(ctx); err != nil {
		return "", err
	}
	o.tokens.keepFresh(ctx, namespace+"/"+name, renew)
	user := pki.User{Name: "system:serviceaccount:" + namespace + ":" + name, TokenFile: tokenFile}
	content, err := pki.Kubeconfig(c.Name, c.server, c.plane.CA(), user)
	if err != nil {
		return "", err
	}
	if err := pki.WriteFile(kubeconfig, content); err != nil {
		return "", err
	}
	return kubeconfig, reader.give(kubeconfig)
}

func (c *Cluster) writeToken(ctx context.Context, namespace, name, file string) error {
	seconds := int64(tokenLife / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return pki.WriteFile(file, []byte(answer.Status.Token))
}

// renewals keeps the token of one ServiceAccount fresh: that of the latest start.
type renewals struct {
	mu      sync.Mutex
	account string
	stop    context.CancelFunc
	running sync.WaitGroup
}

// keepFresh calls renew from time to time until end, unless it does already.
func (r *renewals) keepFresh(ctx context.Context, account string, renew func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.account == account {
		return
	}
	r.endLocked()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.account, r.stop = account, stop
	r.running.Go(func() {
		wait := tokenRenew
		for pause(ctx, wait) {
			wait = tokenRenew
			if renew(ctx) != nil {
				wait = tokenRetry // the old token has half its life before it
			}
		}
	})
}

func (r *renewals) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked()
}

func (r *renewals) endLocked() {
	if r.stop != nil {
		r.stop()
		r.running.Wait()
	}
	r.account, r.stop = "", nil
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
