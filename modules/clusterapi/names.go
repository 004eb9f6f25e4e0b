package clusterapi

import (
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

const (
	// EnabledLabel opts a MachineDeployment in, with the value "true".
	EnabledLabel = "karpenter.k8s.linode/enabled"
	// HourlyPriceAnnotation on a MachineDeployment is the price in USD of one of its Machines for an hour.
	HourlyPriceAnnotation = "karpenter.k8s.linode/hourly-price"
	// ClaimAnnotation on a Machine names its claimant, as <name>/<UID>.
	ClaimAnnotation = "karpenter.k8s.linode/claim"
	// FenceAnnotation on a Machine has no meaning. A new process writes it to change the resourceVersion.
	FenceAnnotation = "karpenter.k8s.linode/fence"
	// RemovalAnnotation on a MachineDeployment that this package paused names the MachineSet
	// to shrink and its replicas, as <name>/<replicas>.
	RemovalAnnotation = "karpenter.k8s.linode/removal"

	// DeleteMachineAnnotation is Cluster API's: a MachineSet that shrinks deletes Machines that have it before others.
	DeleteMachineAnnotation = "cluster.x-k8s.io/delete-machine"
	// ReleasedValue is the value of DeleteMachineAnnotation that this package writes. Cluster API reads no value.
	ReleasedValue = "karpenter.k8s.linode"
)

// ClaimValue returns the value of ClaimAnnotation for a claimant.
func ClaimValue(by claims.Claimant) string { return by.Name + "/" + by.UID }

// ParseClaim returns the claimant in a value of ClaimAnnotation, zero for "".
func ParseClaim(value string) claims.Claimant {
	name, uid, _ := strings.Cut(value, "/")
	return claims.Claimant{Name: name, UID: uid}
}

// RemovalValue returns the value of RemovalAnnotation.
func RemovalValue(r Removal) string { return r.Set + "/" + strconv.Itoa(r.Replicas) }

// ParseRemoval returns the removal in a value of RemovalAnnotation, zero for an invalid value.
func ParseRemoval(value string) Removal {
	set, count, _ := strings.Cut(value, "/")
	replicas, err := strconv.Atoi(count)
	if err != nil || replicas < 0 {
		return Removal{}
	}
	return Removal{Set: set, Replicas: replicas}
}
