package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

// answerPatience is how long an answer may take. With `make break NAME=slow-api` an answer takes three seconds.
const answerPatience = 5 * time.Second

// Working returns "ready" if the operator is ready, and the Kubernetes API and the Linode API answer. Otherwise it returns "not ready" and
// the reasons. The operator itself stays ready while an API does not answer, because another replica would not help.
func (i Info) Working(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	var operator, kubernetes, linode string
	var asked sync.WaitGroup
	asked.Go(func() { operator = i.operator(ctx) })
	asked.Go(func() { kubernetes = i.kubernetes(ctx) })
	asked.Go(func() { linode = i.linode(ctx) })
	asked.Wait()
	var why []string
	for _, text := range []string{kubernetes, linode, operator} {
		if text != "" {
			why = append(why, text)
		}
	}
	if len(why) == 0 {
		return "ready"
	}
	return "not ready: " + strings.Join(why, "; ")
}

func (i Info) operator(ctx context.Context) string {
	if err := process.Probe(ctx, http.DefaultClient, i.HealthURL+"/readyz"); err != nil {
		return "its /readyz answers " + cause(err)
	}
	return ""
}

func (i Info) kubernetes(ctx context.Context) string {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil {
		return "the kubeconfig cannot be read: " + err.Error()
	}
	client, err := rest.HTTPClientFor(config)
	if err == nil {
		err = process.Probe(ctx, client, config.Host+"/readyz")
	}
	if err != nil {
		return "the Kubernetes API server does not answer (" + cause(err) + ")"
	}
	return ""
}

func (i Info) linode(ctx context.Context) string {
	err := linodehttp.New(i.SimURL, i.Token, "status").Send(ctx, http.MethodGet, "/linode/instances?page_size=25", "", nil, nil)
	refusal, answered := errors.AsType[*linodehttp.Error](err)
	switch {
	case err == nil:
		return ""
	case answered && refusal.Status == http.StatusUnauthorized:
		return "the simulated Linode API refuses the token (401)"
	case answered:
		return fmt.Sprintf("the simulated Linode API answers %d", refusal.Status)
	}
	return "the simulated Linode API does not answer (" + cause(err) + ")"
}

// cause is the text of an error without its URL, because the URL's port means nothing to a user.
func cause(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("nothing within %s", answerPatience)
	}
	if request, is := errors.AsType[*url.Error](err); is {
		return request.Err.Error()
	}
	return err.Error()
}
