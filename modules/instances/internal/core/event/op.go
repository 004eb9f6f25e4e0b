package event

// Op identifies a request to the platform; its text is for people.
type Op string

// The requests.
const (
	OpList    Op = "list instances"
	OpFind    Op = "find label"
	OpRead    Op = "read instance"
	OpDisks   Op = "list disks"
	OpDisk    Op = "read disk"
	OpConfigs Op = "list configurations"
	OpCreate  Op = "create instance"
	OpDelete  Op = "delete instance"
	OpTag     Op = "tag instance"
	OpAddDisk Op = "add disk"
	OpAttach  Op = "attach disks"
	OpBoot    Op = "boot instance"
)

// Actions returns the names of all requests.
func Actions() []string {
	var all []string
	for _, o := range []Op{OpList, OpFind, OpRead, OpDisks, OpDisk, OpConfigs, OpCreate, OpDelete, OpTag, OpAddDisk, OpAttach, OpBoot} {
		all = append(all, string(o))
	}
	return all
}

// Write reports whether the request changes the platform.
func (o Op) Write() bool {
	switch o {
	case OpCreate, OpDelete, OpTag, OpAddDisk, OpAttach, OpBoot:
		return true
	}
	return false
}

// OfParts reports whether the request reads an instance's disks or configurations.
func (o Op) OfParts() bool { return o == OpDisks || o == OpDisk || o == OpConfigs }
