package demo

import (
	"fmt"
	"io"
	"time"
)

// row has the table's columns at one moment.
type row struct {
	podsReady, podsWanted   int
	claims, claimsLaunched  int
	nodesReady, nodes       int
	pools, count, instances int // pools that are not the user's: how many, their counts added up, their instances
	collections, others     int // API calls by rate-limit class
}

// table prints a row whenever something changes, so that it reads well on a
// terminal and in a log alike.
type table struct {
	out    io.Writer
	start  time.Time
	plain  bool // Linodes without LKE pools
	last   row
	opened bool
}

const rowFormat = "%7s  %-10s  %-13s  %-8s  %-23s  %-20s  %s\n"

func (t *table) say(what string) {
	fmt.Fprintf(t.out, "%7s  %s\n", t.elapsed(), what)
}

func (t *table) show(r row) {
	if !t.opened {
		made := "LKE pools (nodes wanted)"
		if t.plain {
			made = "Linodes"
		}
		fmt.Fprintf(t.out, rowFormat, "time", "pods ready", "nodeclaims", "nodes", made, "API calls: lists", "others")
		t.opened = true
	} else if r == t.last {
		return
	}
	t.last = r
	made := fmt.Sprintf("%d (%d), %d instances", r.pools, r.count, r.instances)
	if t.plain {
		made = fmt.Sprint(r.instances)
	}
	fmt.Fprintf(t.out, rowFormat, t.elapsed(),
		fmt.Sprintf("%d/%d", r.podsReady, r.podsWanted),
		fmt.Sprintf("%d (%d up)", r.claims, r.claimsLaunched),
		fmt.Sprintf("%d/%d", r.nodesReady, r.nodes),
		made, fmt.Sprint(r.collections), fmt.Sprint(r.others))
}

func (t *table) elapsed() string { return time.Since(t.start).Round(100 * time.Millisecond).String() }
