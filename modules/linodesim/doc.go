// Package linodesim is a stateful simulator of the part of the Linode API that
// a Kubernetes node provider uses: LKE clusters, node pools and nodes of both
// tiers; Linodes with disks, configurations, interfaces and addresses; plans,
// regions, images, firewalls, placement groups, VPCs, NodeBalancers, volumes,
// tags, the account and its events. It serves every operation of
// openapi/linode.yaml. It is a model of what the platform does, not a mock of a
// client, so the HTTP of a client, its paging, filters, limits and retries are
// really run.
//
// A Sim is an http.Handler for real sockets, and Transport an in-memory
// http.RoundTripper for tests. Neither starts a goroutine; Subscribe starts one
// per subscriber. All waiting goes through one Clock and ends with the
// request's context, so that inside a testing/synctest bubble hours take
// milliseconds:
//
//	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Realistic(), Seed: 1})
//	cluster, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Tier: linodesim.Enterprise})
//	client := &http.Client{Transport: sim.Transport()} // any host; Bearer linodesim.DefaultToken
//
// # A node's life
//
// The arrows name the delays that are drawn from the Profile. An object reaches its
// next state when a request looks at it after the delay, or when a subscriber waits for
// it.
//
//	stateDiagram-v2
//	    [*] --> requested: pool made, count raised
//	    requested --> offline: InstanceID. The Linode exists, instance_id is set
//	    offline --> booting: half of Join
//	    booting --> running: four fifths of Join
//	    running --> ready: Join. Event NodeJoins
//	    requested --> [*]: node or pool deleted
//	    offline --> deleting: node or pool deleted, count lowered, recycled
//	    booting --> deleting
//	    running --> deleting
//	    ready --> deleting
//	    deleting --> [*]: Gone. The Linode is a 404. Event NodeGone
//	    ready --> lost: Linode deleted directly. Event NodeGone
//	    lost --> [*]: Repair. A new node is requested in its place
//
// On Standard a node is in its pool's nodes[] from the start, with instance_id
// null, and its Linode never gets tags. On Enterprise it appears in nodes[]
// only after NodeListed, while its Linode carries lke<cluster>, nodepool=<pool>
// and the pool's tags after Tagged; later changes of the pool's tags reach the
// Linodes as well.
//
// # A pool's life
//
//	stateDiagram-v2
//	    [*] --> there: POST pools
//	    there --> there: PUT, more. Nodes are requested at once
//	    there --> there: PUT, less. Nodes of the seed's choice are deleted
//	    there --> there: DELETE node. Exactly that node, count minus one
//	    there --> there: DELETE of the last node, see Behaviour.LastNode
//	    there --> [*]: DELETE pool. All nodes are deleted
//
// # A cluster's life
//
//	stateDiagram-v2
//	    [*] --> young: POST clusters. status is ready, and proves nothing
//	    young --> reachable: ControlPlane. Until then kubeconfig and api-endpoints are 503
//	    [*] --> reachable: AddCluster
//	    reachable --> [*]: DELETE cluster. All pools are deleted
//	    young --> [*]: DELETE cluster
//
// # A Linode's life, outside of LKE
//
//	stateDiagram-v2
//	    [*] --> provisioning: POST instances. Its disks are not ready
//	    provisioning --> booting: half of Join, with an image and booted
//	    provisioning --> offline: half of Join, else
//	    booting --> running: four fifths of Join
//	    offline --> booting: POST boot. It needs a configuration
//	    running --> shutting_down: POST shutdown
//	    shutting_down --> offline: Gone
//	    running --> rebooting: POST reboot
//	    rebooting --> running: half of Join
//	    offline --> [*]: DELETE, in every state. At once a 404
//
// The account's events of all this are scheduled, started and finished together with
// the work. An event has failed if its Linode was deleted meanwhile.
//
// POST boot, reboot and shutdown are answered 400 in a state without such an arrow; the
// text is "Linode busy." while a job runs. A client can also shut down and boot a
// worker of LKE. LKE does nothing about it. Subscribers get no event of the shutdown,
// and NodeReboots when the worker runs again.
//
// # A disk's and an image's life
//
//	stateDiagram-v2
//	    [*] --> not_ready: with its Linode, or POST disks
//	    not_ready --> ready: half of the Linode's Join, or InstanceID
//	    ready --> [*]: DELETE, while the Linode is offline
//	    [*] --> creating: POST images
//	    creating --> available: Join. It has a region then, and Linodes can be made of it
//	    available --> [*]: DELETE
//
// Firewalls, placement groups, VPCs and tags have no states: they exist from their POST
// to their DELETE. A placement group with members and a VPC with Linodes refuse the
// DELETE.
//
// # A request's way
//
// A request passes these steps: route, maintenance, token, rate limit; then half of the
// drawn delay; scope, fault rules, form of the body; then, in one moment of the world,
// the model's own rules and the effect; then the rest of the delay. If the client
// cancels the request in the first half, it has no effect. If the client cancels it in
// the second half, it has its effect. Limits are counted as documented, per token and
// class, in windows that begin with their first request: 200 a minute for collections,
// 20 a minute for GET /images, 20 in 15 seconds for POST /linode/instances, 15 a minute
// for POST /vpcs, 100 a minute for POST /volumes, 1,600 a minute for everything else. A
// route, field, filter or method that the API does not have is refused and kept in
// Unknown. Some fields have no meaning, but recordings show that the API accepts them.
// The description has these fields for the operations to which they were sent, and the
// simulator accepts them there.
//
// # What the simulator records
//
// Calls counts answers by route template, status and rate class; Audit has
// every change of state with who, when and the request's ID; Snapshot copies
// everything; Floor returns how long the platform itself took. A record has the name of
// the token's user, such as user1, and never the token: the users are numbered in the
// sorted order of the tokens. All records and the state are in memory, and end with the
// process; RecentCalls has at most 200 calls, and Unknown at most 100 texts.
//
// # Not known, chosen here
//
// Some answers are not known outside the platform. Behaviour chooses between the
// possible answers where the choice matters to a client: deletion of a pool's last node
// and of a cluster's last pool, a Linode deleted directly, count 0 on Enterprise,
// reserved taint keys, nodes that are not listed yet, filters on pools, pages beyond
// the end, the form of workers' labels, when a Linode loses volumes whose attachment
// does not persist across boots, and whether removed labels and taints come back (read
// by the program that simulates the cluster). Other answers are fixed here, because a
// client should not depend on them:
//
//   - a recycled or repaired node is a new node with a new ID;
//   - LKE does not drain; a deleted node's Linode is seen as deleting for a while;
//   - a 403 for a missing scope, a 404 for a method that a route does not have;
//   - the text for no capacity, a full cluster, a plan that LKE does not take,
//     an unavailable plan: 400 with field type or count and the simulator's own text;
//   - label keys with kubernetes.io or linode.com are refused by the API, as the
//     Cloud Manager does; taint keys have at most 63 characters;
//   - every 429 has a Retry-After; a refused request does not count;
//   - text filters compare exactly, tags are case sensitive;
//   - a Linode or interface has one firewall at a time, and a disabled firewall
//     counts; the text of that refusal;
//   - firewalls, versions and strategies of a pool change at once for the API
//     and have no effect on existing nodes;
//   - a private image of another account is a 404, deleting a public one a 403;
//   - the text that refuses the list of interfaces of a Linode with legacy interfaces;
//   - a volume's attachment with persist_across_boots false needs a Linode that runs
//     and takes no configuration, as the description says; the text is the simulator's own;
//   - a tag's objects are Linodes, clusters, volumes and NodeBalancers, by ID.
//
// # Not modelled
//
// Effects of the network: nothing is routed or filtered, user data is not run. Disks
// and configurations of LKE's workers: their lists are empty. The work of a
// NodeBalancer or a volume: only their objects, states and limits are modelled.
// Domains, object storage, reserved addresses, resizing, migrating and rebuilding a
// Linode, the owner's account, the objects
// of a tag, and the availability of VPCs: no client that is tested here asks for them, and GET /unknown lists a request that does.
// Backups, StackScripts, prefix lists and rule sets of firewalls: requests that name one are refused.
// LKE's autoscaler, the control plane's ACL, App Platform and audit logs are
// stored and do nothing; a new kubeconfig differs from the old one and is as
// useless. Resource locks, grants of restricted users, quotas per plan, compliance
// of placement groups. Kubernetes itself: a kubeconfig has no
// credentials, and nothing listens at the API endpoints. Plans, prices, images
// and regions beyond package catalog's. TimeScale does not
// shorten rate limit windows.
//
// # Faults
//
// Fail adds rules for single requests or many: statuses with or without Retry-After, a
// proxy's page, delays, connections that drop or hang before or after the effect,
// writes without effect or with a late effect, groups of wrong 404s, lists that lack
// entries or whose pages shift, stale reads. A late write is answered at once (or its
// connection ends) and carried out later, possibly after newer writes, and even if its
// sender is gone. A stale read is answered from a copy of the world at an earlier time.
// All entries of one page are of the same time, but two requests may get copies of
// different times: the second page may be older than the first. Profiles
// stale and hostile consist of such rules, which come after the rules of Fail.
// RefuseCapacity, SetAccountLimit, SetMaintenance, NeverBoot and StallNodes are faults
// of the platform; RecycleNode, DeleteInstance, EditPool and their like change the
// account as its owner does. Lie breaks one of the operator's assumptions, such as an
// instance ID within minutes, further than any profile does: a client's tests use it to
// show that the client notices. Admin offers over HTTP the actions that the API lacks.
//
// Program linodesim, in cmd/linodesim, serves one simulator with one cluster.
// `karpenter-linode verify`, with module lkeprobe, settles on a real account the unknown
// facts; its report is a Profile and a Behaviour (ProfileFrom).
package linodesim
