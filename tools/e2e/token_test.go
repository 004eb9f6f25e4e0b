package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// partLength is how many characters of the token in a row count as a leak.
const partLength = 8

// leaks names where any part of the token is, and which characters of it, not the
// characters themselves.
func leaks(token string, texts map[string]string) []string {
	var found []string
	for where, text := range texts {
		for i := 0; i+partLength <= len(token); i++ {
			if at := strings.Index(text, token[i:i+partLength]); at >= 0 {
				found = append(found, fmt.Sprintf("characters %d to %d of the token are at byte %d of %s", i, i+partLength-1, at, where))
				break
			}
		}
	}
	return found
}

func search(t *testing.T, token string, texts map[string]string) {
	t.Helper()
	if len(token) < partLength {
		t.Fatalf("scan: a token of %d characters cannot be searched for", len(token))
	}
	for _, leak := range leaks(token, texts) {
		t.Errorf("scan: %s", leak)
	}
}

// searchFiles looks for the token in the logs of all replicas, and in the API
// server's record of every request.
func (e *environment) searchFiles(t *testing.T) {
	t.Helper()
	files := []string{filepath.Join(e.LogDir(), "audit.log")}
	for _, operator := range e.Operators {
		files = append(files, operator.LogPath())
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			t.Errorf("scan: %s has %d bytes: %v", file, len(text), err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	search(t, e.SimToken, texts)
}

// searchObjects looks for it in all objects that the operator writes, with their
// conditions and events.
func (e *environment) searchObjects(t *testing.T) {
	t.Helper()
	search(t, e.SimToken, e.objects(t))
}

func (e *environment) objects(t *testing.T) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	texts := map[string]string{}
	for what, list := range map[string]client.ObjectList{
		"events": &corev1.EventList{}, "nodes": &corev1.NodeList{}, "ConfigMaps": &corev1.ConfigMapList{}, "NodePools": &karpv1.NodePoolList{},
		"NodeClaims": &karpv1.NodeClaimList{}, "LinodeNodeClasses": &v1alpha1.LinodeNodeClassList{},
	} {
		if err := e.kube.List(ctx, list); err != nil {
			continue // a suite may have removed the definitions
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Errorf("scan: %v", err)
		}
		texts[what] = string(text)
	}
	if texts["events"] == "" {
		t.Error("scan: there are no events to be read")
	}
	return texts
}

func TestAnyEightCharactersOfTheTokenAreFound(t *testing.T) {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for at := range len(token) - partLength + 1 {
		planted := map[string]string{"log": strings.Repeat("a line\n", 1000) + "x" + token[at:at+partLength] + "x", "events": "nothing"}
		if found := leaks(token, planted); len(found) != 1 || !strings.Contains(found[0], "log") ||
			strings.Contains(found[0], token[at:at+partLength]) {
			t.Errorf("planted at %d: found %q", at, found)
		}
		if found := leaks(token, map[string]string{"log": token[at : at+partLength-1]}); found != nil {
			t.Errorf("seven characters at %d: %q", at, found)
		}
	}
}

// plantedToken: the scan of this very environment finds parts of the token in each of
// the places that it reads through the API server.
func plantedToken(t *testing.T, e *environment) {
	g, ctx := NewWithT(t), t.Context()
	part := e.SimToken[3 : 3+partLength]
	e.apply(t, "linodenodeclass.yaml")
	planted := []client.Object{
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "planted"}, Message: "the API answered " + part, Reason: "Planted",
			InvolvedObject: corev1.ObjectReference{Namespace: "default"},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "planted"}, Data: map[string]string{"x": part}},
	}
	for _, object := range planted {
		g.Expect(e.kube.Create(ctx, object)).To(Succeed())
	}
	class := &v1alpha1.LinodeNodeClass{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "default"}, class)).To(Succeed())
	e.annotate(t, class, "example.com/planted", part)
	found := strings.Join(leaks(e.SimToken, e.objects(t)), "\n")
	for _, where := range []string{"events", "ConfigMaps", "LinodeNodeClasses"} {
		if !strings.Contains(found, where) {
			t.Errorf("the planted part of the token is not found in %s: %s", where, found)
		}
	}
	e.annotate(t, class, "example.com/planted", "")
	for _, object := range planted {
		g.Expect(e.kube.Delete(ctx, object)).To(Succeed())
	}
}
