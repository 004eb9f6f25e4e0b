package demo

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// row has the table's columns at one moment.
type row struct {
	podsReady, podsWanted   int
	claims, claimsLaunched  int
	nodesReady, nodes       int
	machines                int // of MachineDeployments, in clusterapi mode
	pools, count, instances int // of the pools that are not the user's: their number, the sum of their counts, their instances
	collections, others     int // API calls by rate-limit class
	beside                  beside
}

// unready returns the pods and nodes that are missing.
func (r row) unready() []string {
	var missing []string
	if r.podsReady != wanted {
		missing = append(missing, fmt.Sprintf("%d of %d pods are ready", r.podsReady, wanted))
	}
	if r.nodesReady != r.nodes || r.nodes != r.claims {
		missing = append(missing, fmt.Sprintf("%d of %d nodes are ready, for %d NodeClaims", r.nodesReady, r.nodes, r.claims))
	}
	return missing
}

// present returns the remaining objects that must go away.
func (r row) present() []string {
	if r.claims == 0 && r.nodes == 0 && r.pools == 0 && r.instances == 0 && r.machines == 0 && r.beside.left() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d NodeClaims, %d nodes, %d pools, %d instances, %d Machines, %d NodeBalancers and %d volumes are left",
		r.claims, r.nodes, r.pools, r.instances, r.machines, r.beside.balancers, r.beside.volumes)}
}

// table prints a row only if a value has changed, so that it reads well on a
// terminal and in a log.
type table struct {
	out      io.Writer
	start    time.Time
	plain    bool // Linodes without LKE pools
	machines bool // Linodes of Machines
	last     row
	opened   bool
}

const (
	rowFormat     = "%7s  %-10s  %-13s  %-8s  %-23s  %-20s  %s\n"
	machineFormat = "%7s  %-10s  %-13s  %-8s  %-8s  %-7s  %-20s  %s\n"
	plainFormat   = "%7s  %-10s  %-13s  %-8s  %-7s  %-11s  %-16s  %-20s  %s\n"
)

func (t *table) say(what string) {
	fmt.Fprintf(t.out, "%7s  %s\n", t.elapsed(), what)
}

func (t *table) show(r row) {
	if !t.opened {
		t.print([4]string{"time", "pods ready", "nodeclaims", "nodes"}, t.madeColumns(), "API calls: lists", "others")
		t.opened = true
	} else if r == t.last {
		return
	}
	t.last = r
	t.print([4]string{t.elapsed(), fmt.Sprintf("%d/%d", r.podsReady, r.podsWanted), fmt.Sprintf("%d (%d up)", r.claims, r.claimsLaunched),
		fmt.Sprintf("%d/%d", r.nodesReady, r.nodes)}, t.made(r), fmt.Sprint(r.collections), fmt.Sprint(r.others))
}

// madeColumns are the headings of the objects made in the account.
func (t *table) madeColumns() []string {
	if t.machines {
		return []string{"Machines", "Linodes"}
	}
	if t.plain {
		return []string{"Linodes", "backends up", "volumes attached"}
	}
	return []string{"LKE pools (nodes wanted)"}
}

func (t *table) made(r row) []string {
	if t.machines {
		return []string{fmt.Sprint(r.machines), fmt.Sprint(r.instances)}
	}
	if t.plain {
		return []string{fmt.Sprint(r.instances), fmt.Sprintf("%d/%d", r.beside.up, r.beside.backends),
			fmt.Sprintf("%d/%d", r.beside.attached, r.beside.volumes)}
	}
	return []string{fmt.Sprintf("%d (%d), %d instances", r.pools, r.count, r.instances)}
}

// print prints a line: objects in Kubernetes, objects in the account, and requests.
func (t *table) print(kubernetes [4]string, made []string, lists, others string) {
	format := rowFormat
	if t.plain {
		format = plainFormat
	}
	if t.machines {
		format = machineFormat
	}
	var cells []any
	for _, cell := range slices.Concat(kubernetes[:], made, []string{lists, others}) {
		cells = append(cells, cell)
	}
	fmt.Fprintf(t.out, format, cells...)
}

func (t *table) elapsed() string { return time.Since(t.start).Round(100 * time.Millisecond).String() }
