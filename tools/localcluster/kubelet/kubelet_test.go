package kubelet_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/kubelet"
)

func TestLogsAreServedAsAKubeletDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	handler := kubelet.Handler(func(_ context.Context, c kubelet.Container) (string, error) {
		switch c {
		case kubelet.Container{Namespace: "kube-system", Pod: "karpenter-1", Name: "controller"}:
			return path, nil
		case kubelet.Container{Namespace: "kube-system", Pod: "broken", Name: "controller"}:
			return "", errors.New("no API server")
		}
		return "", nil
	})
	const operator = "/containerLogs/kube-system/karpenter-1/controller"
	for name, c := range map[string]struct {
		path   string
		status int
		want   string
	}{
		"all":   {operator, 200, "one\ntwo\nthree\n"},
		"tail":  {operator + "?tailLines=1", 200, "three\n"},
		"bytes": {operator + "?limitBytes=5&follow=true", 200, "one\nt"},
		"a simulated one": {"/containerLogs/default/inflate-1/pause", 200,
			"container pause of default/inflate-1 is simulated: no program runs in it, so it has no log\n"},
		"no answer":        {"/containerLogs/kube-system/broken/controller", 500, "no API server\n"},
		"a tail of words":  {operator + "?tailLines=few", 400, "tailLines is \"few\"; it must be a number from 0\n"},
		"no bytes":         {operator + "?limitBytes=0", 400, "limitBytes is \"0\"; it must be a number from 1\n"},
		"since":            {operator + "?sinceSeconds=5", 400, "--since is not served by the local cluster: use --tail\n"},
		"previous":         {operator + "?previous=true", 400, "--previous is not served"},
		"without previous": {operator + "?previous=false&timestamps=false&tailLines=0", 200, ""},
		"exec":             {"/exec/kube-system/karpenter-1/controller", 501, "serve logs and nothing else"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil))
			if w.Code != c.status || !strings.HasPrefix(w.Body.String(), c.want) && (c.status != 501 || !strings.Contains(w.Body.String(), c.want)) {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body.String(), c.status, c.want)
			}
		})
	}
}
