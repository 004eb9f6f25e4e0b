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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

const (
	tokenLife  = 24 * time.Hour
	tokenRenew = time.Hour
)

// serviceAccountKubeconfig writes a kubeconfig that acts as the ServiceAccount,
// with a token as a kubelet would project it, and keeps the token fresh until
// the cluster stops. Clients read the token's file again by themselves.
func (o *Operator) serviceAccountKubeconfig(ctx context.Context, namespace, name string, reader Program) (string, error) {
	c, dir := o.cluster, filepath.Join(reader.Dir, o.folder())
	kubeconfig, tokenFile := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	renew := func(ctx context.Context) error {
		return errors.Join(writeToken(ctx, c.client, namespace, name, tokenFile), reader.give(dir, tokenFile))
	}
	if err := renew(ctx); err != nil {
		return "", err
	}
	o.tokens.replace(keepFresh(ctx, renew))
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

func writeToken(ctx context.Context, kube kubernetes.Interface, namespace, name, file string) error {
	seconds := int64(tokenLife / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return pki.WriteFile(file, []byte(answer.Status.Token))
}

// renewal keeps the token of the latest start fresh.
type renewal struct {
	mu  sync.Mutex
	end func() // nil = no token
}

// replace ends the renewal of the previous start; end, which may be nil, ends the new renewal.
func (r *renewal) replace(end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end()
	}
	r.end = end
}

// keepFresh calls renew every tokenRenew, until the caller calls end. If a call fails, the next calls come long before the token expires: a
// token is valid for 24 hours, and there is a call each hour.
func keepFresh(ctx context.Context, renew func(context.Context) error) (end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, tokenRenew, false, func(ctx context.Context) (bool, error) { // ends with ctx
			_ = renew(ctx)
			return false, nil
		})
	})
	return func() { stop(); running.Wait() }
}
