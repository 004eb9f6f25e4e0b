package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

const nodesPath = "/api/v1/nodes"

// withNodeIP adds an address to the Node that a kubelet registers. The kubelet's flag --node-ip cannot do this, because the
// kubelet accepts only addresses of this host (pkg/kubelet, validateNodeIP). Later the kubelet does not change the address: it
// leaves the addresses of a registered Node to the cloud provider (pkg/kubelet/nodestatus, NodeAddress).
type withNodeIP struct {
	next    http.RoundTripper
	address string
}

func (w withNodeIP) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || request.URL.Path != nodesPath || request.Body == nil {
		return w.next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err == nil {
		err = request.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	if body, err = addressed(body, w.address); err != nil {
		return nil, fmt.Errorf("the Node that the kubelet registers: %w", err)
	}
	changed := request.Clone(request.Context())
	changed.Header.Set("Content-Type", runtime.ContentTypeJSON)
	changed.Body, changed.ContentLength, changed.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return w.next.RoundTrip(changed)
}

// addressed puts an internal address before the other addresses of a Node, and returns the Node as JSON.
func addressed(body []byte, address string) ([]byte, error) {
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil) // protobuf
	if err != nil {
		return nil, err
	}
	node, is := object.(*corev1.Node)
	if !is {
		return nil, fmt.Errorf("it is a %s", kind)
	}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	node.Status.Addresses = append([]corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}, node.Status.Addresses...)
	return json.Marshal(node)
}
