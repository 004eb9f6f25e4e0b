package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// Names of Cluster API: api/core/v1beta2/common_types.go and machinedeployment_types.go of module sigs.k8s.io/cluster-api/api v1.14.
const (
	group               = "cluster.x-k8s.io"
	version             = "v1beta2"
	clusterLabel        = "cluster.x-k8s.io/cluster-name"
	deploymentLabel     = "cluster.x-k8s.io/deployment-name"
	setLabel            = "cluster.x-k8s.io/set-name"
	revisionAnnotation  = "machinedeployment.clusters.x-k8s.io/revision"
	pausedAnnotation    = "cluster.x-k8s.io/paused"
	minSizeAnnotation   = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSizeAnnotation   = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	onDelete            = "OnDelete"
	pausedCondition     = "Paused"
	conditionTrue       = "True"
	conditionFalse      = "False"
	phaseFailed         = "Failed"
	infrastructureReady = "InfrastructureReady"
)

type templateRef struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

func (r templateRef) public() clusterapi.TemplateRef { return clusterapi.TemplateRef(r) }

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type machineSpec struct {
	Bootstrap struct {
		ConfigRef templateRef `json:"configRef"`
	} `json:"bootstrap"`
	InfrastructureRef templateRef        `json:"infrastructureRef"`
	ProviderID        string             `json:"providerID"`
	Taints            []clusterapi.Taint `json:"taints"`
}

type machineDeployment struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClusterName string `json:"clusterName"`
		Replicas    *int   `json:"replicas"`
		Paused      bool   `json:"paused"`
		Rollout     struct {
			Strategy struct {
				Type string `json:"type"`
			} `json:"strategy"`
		} `json:"rollout"`
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec machineSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		Conditions         []condition `json:"conditions"`
	} `json:"status"`
}

type machineSet struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas *int `json:"replicas"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
	} `json:"status"`
}

type machine struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              machineSpec `json:"spec"`
	Status            struct {
		Phase      string      `json:"phase"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// infraMachine is a machine of an infrastructure provider.
type infraMachine struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// decode reads the fields of T from an object.
func decode[T any](u unstructured.Unstructured) (T, error) {
	var to T
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &to)
	return to, err
}
