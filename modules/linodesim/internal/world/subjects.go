package world

// The subjects of an account. Each type has the operations of the API that are
// about its subject, by name, and what the platform does with it. All of them
// see the same moment.
type (
	// Clusters are LKE clusters and their control planes.
	Clusters struct{ *Moment }
	// Pools are LKE node pools.
	Pools struct{ *Moment }
	// Nodes are the places in node pools.
	Nodes struct{ *Moment }
	// Linodes are Linodes, workers of LKE included.
	Linodes struct{ *Moment }
	// Interfaces are the network interfaces and addresses of Linodes.
	Interfaces struct{ *Moment }
	// Addresses are the addresses of Linodes.
	Addresses struct{ *Moment }
	// Disks are the disks of Linodes that are no workers.
	Disks struct{ *Moment }
	// Configs are the configurations of Linodes that are no workers.
	Configs struct{ *Moment }
	// Images are the public images and the images of the account.
	Images struct{ *Moment }
	// Firewalls are Cloud Firewalls and their devices.
	Firewalls struct{ *Moment }
	// Groups are placement groups.
	Groups struct{ *Moment }
	// VPCs are VPCs and their subnets.
	VPCs struct{ *Moment }
	// NodeBalancers are load balancers with their ports and nodes.
	NodeBalancers struct{ *Moment }
	// Volumes are block storage.
	Volumes struct{ *Moment }
	// Tags are the labels of the account's objects.
	Tags struct{ *Moment }
	// Account is the account, its user and its events.
	Account struct{ *Moment }
	// Offers are the plans, regions and versions that can be bought.
	Offers struct{ *Moment }
	// Faults are the faults of the platform in force.
	Faults struct{ *Moment }
	// History is the world as it was.
	History struct{ *Moment }
	// Feed reports to subscribers.
	Feed struct{ *Moment }
)

// Clusters returns the clusters of this moment; the methods below return the
// other subjects.
func (w *Moment) Clusters() Clusters           { return Clusters{w} }
func (w *Moment) Pools() Pools                 { return Pools{w} }
func (w *Moment) Nodes() Nodes                 { return Nodes{w} }
func (w *Moment) Linodes() Linodes             { return Linodes{w} }
func (w *Moment) Interfaces() Interfaces       { return Interfaces{w} }
func (w *Moment) Addresses() Addresses         { return Addresses{w} }
func (w *Moment) Disks() Disks                 { return Disks{w} }
func (w *Moment) Configs() Configs             { return Configs{w} }
func (w *Moment) Images() Images               { return Images{w} }
func (w *Moment) Firewalls() Firewalls         { return Firewalls{w} }
func (w *Moment) Groups() Groups               { return Groups{w} }
func (w *Moment) VPCs() VPCs                   { return VPCs{w} }
func (w *Moment) NodeBalancers() NodeBalancers { return NodeBalancers{w} }
func (w *Moment) Volumes() Volumes             { return Volumes{w} }
func (w *Moment) Tags() Tags                   { return Tags{w} }
func (w *Moment) Account() Account             { return Account{w} }
func (w *Moment) Offers() Offers               { return Offers{w} }
func (w *Moment) Faults() Faults               { return Faults{w} }
func (w *Moment) History() History             { return History{w} }
func (w *Moment) Feed() Feed                   { return Feed{w} }
