package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSurge consolidates the node of an HTTP server with one replica while a client sends requests without a pause.
func TestSurge(t *testing.T) {
	t.Parallel()
	e := start(t, "surge", "standard", map[string]any{"settings": map[string]any{"surgeBeforeDrain": true}})
	e.scenario(t, "with the annotation no request is lost", func(t *testing.T, e *environment) {
		if sent, lost := consolidated(t, e, "karpenter.k8s.linode/surge-before-drain: 5m"); lost > 0 {
			t.Errorf("%d of %d requests were lost", lost, sent)
		}
	})
	e.scenario(t, "without it some are, so that the client would notice", func(t *testing.T, e *environment) {
		if sent, lost := consolidated(t, e, "example.com/none: none"); lost == 0 {
			t.Errorf("none of %d requests was lost", sent)
		}
	})
}

// consolidated returns how many requests were sent, and lost, while the server's node was replaced by a cheaper one.
func consolidated(t *testing.T, e *environment, annotation string) (sent, lost int) {
	t.Helper()
	const app = "single"
	e.nodePool(t, nodePoolSpec{types: []string{"g6-standard-2"}})
	// A container starts within seconds. The pods of kwok start at once, and no client would notice the change.
	e.apply(t, strings.NewReplacer("{name: "+app+", namespace: default}", "{name: "+app+", namespace: default, annotations: {"+annotation+"}}",
		"metadata: {labels: {app: "+app+"}}", "metadata: {labels: {app: "+app+"}, annotations: {local.karpenter.k8s.linode/ready-after: 3s}}").
		Replace(deployment(app, 1, "")))
	e.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: default}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80}]
`, app))
	e.settled(t, app, 1)
	ctx, g := t.Context(), NewWithT(t)
	first := e.pods(ctx, g, app)[0]
	service := &servers{kube: e.kube, app: app, byPod: map[string]*httptest.Server{}}
	defer service.close()
	g.Eventually(ctx, func(g Gomega) { g.Expect(service.request(ctx)).To(Succeed()) }).
		WithTimeout(patience).WithPolling(interval).Should(Succeed())

	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			sent++
			if err := service.request(ctx); err != nil {
				lost++
				t.Logf("request %d: %v", sent, err)
			}
		}
	}()
	e.apply(t, nodePoolSpec{types: []string{"g6-standard-1", "g6-standard-2"}}.yaml())
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.types(ctx, g)).To(Equal([]string{"g6-standard-1"}))
		pods := e.pods(ctx, g, app)
		g.Expect(pods).To(HaveLen(1))
		g.Expect(pods[0].UID).NotTo(Equal(first.UID))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, app, 1)
	close(stop)
	<-ended
	return sent, lost
}

// servers are the processes of an app's pods, which kwok only simulates: one HTTP server for each pod that is ready, until the pod is gone
// and out of its Service, as with a preStop hook that waits for that.
type servers struct {
	kube  client.Client
	app   string
	mu    sync.Mutex
	byPod map[string]*httptest.Server
}

// request sends one request as a client of the Service does: to a pod that its EndpointSlices list as ready.
func (s *servers) request(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices, pods := &discoveryv1.EndpointSliceList{}, &corev1.PodList{}
	if err := s.kube.List(ctx, slices, client.InNamespace("default"), client.MatchingLabels{discoveryv1.LabelServiceName: s.app}); err != nil {
		return err
	}
	if err := s.kube.List(ctx, pods, client.InNamespace("default"), client.MatchingLabels{"app": s.app}); err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef != nil && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				listed[endpoint.TargetRef.Name] = true
			}
		}
	}
	exists := map[string]bool{}
	for _, pod := range pods.Items {
		exists[pod.Name] = true
		if s.byPod[pod.Name] == nil && listed[pod.Name] {
			s.byPod[pod.Name] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
		}
	}
	for name, server := range s.byPod {
		if !exists[name] && !listed[name] {
			server.Close()
			delete(s.byPod, name)
		}
	}
	for name := range listed {
		server := s.byPod[name]
		if server == nil {
			continue
		}
		return get(ctx, server.URL)
	}
	return fmt.Errorf("none of %d endpoints is ready", len(exists))
}

func get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.byPod {
		server.Close()
	}
}
