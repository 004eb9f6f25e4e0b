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

// withNodeIP gives the Node that a kubelet registers the address that --node-ip would: the kubelet's own check (pkg/kubelet,
// validateNodeIP) finds addresses of this host alone. The kubelet leaves addresses that a Node has to the cloud provider
// (pkg/kubelet/nodestatus, NodeAddress).
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

// addressed puts an internal address before the others of a Node, which it returns as JSON.
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
