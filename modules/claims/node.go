package claims

import "time"

// Node represents one machine, as an engine last read it.
type Node struct {
	InstanceID int
	// Name is the instance's label, which becomes the name of the Kubernetes node.
	Name string
	// InstanceType is the plan, for example "g6-standard-2".
	InstanceType string
	Region       string
	// Status is the status in the API, for example "running".
	Status string
	// Health reports whether the instance still serves its claimant.
	Health Health
	// Claim is the claimant's name as tags record it ([Tags.Value]), "" for a free node.
	Claim string
	// Created is the time of creation, on the API's clock.
	Created time.Time
	Tags    []string
}

// Health classifies whether an instance still serves its claimant.
type Health string

const (
	// Healthy instances run, or are young enough to be on their way to running.
	Healthy Health = ""
	// Stopped instances do not run, although they have had enough time to boot.
	Stopped Health = "Stopped"
	// Detached instances exist, but their pool no longer lists them, because the
	// node was removed or recycled. They are about to vanish.
	Detached Health = "Detached"
	// Unfinished instances lack disks, a configuration or their boot.
	Unfinished Health = "Unfinished"
	// Deleting instances are being removed by the platform.
	Deleting Health = "Deleting"
)
