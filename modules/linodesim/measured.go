package linodesim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// ProfileFrom finds a profile by its name or, for a name that ends in .json, reads the
// report of verify in that file. The Behaviour comes from the report; a named profile
// has the zero Behaviour.
func ProfileFrom(nameOrFile string) (Profile, Behaviour, error) {
	if p, known := ProfileNamed(nameOrFile); known {
		return p, Behaviour{}, nil
	}
	if !strings.HasSuffix(nameOrFile, ".json") {
		return Profile{}, Behaviour{},
			fmt.Errorf("profile %q is unknown; use one of %s, or a .json report of verify", nameOrFile, strings.Join(ProfileNames(), ", "))
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return Profile{}, Behaviour{}, fmt.Errorf("profile: %w", err)
	}
	defer func() { _ = f.Close() }()
	p, b, err := Measured(f)
	if err != nil {
		return p, b, fmt.Errorf("profile %s: %w", nameOrFile, err)
	}
	return p, b, nil
}

// Measured reads a report of verify as a profile, with the behaviour that the
// report found. Each delay goes from the least to the most that was measured;
// all other values are as in Realistic. Reads and lists lag by as much as
// they were proven to lag.
func Measured(r io.Reader) (Profile, Behaviour, error) {
	m, err := report.Read(r)
	if err != nil {
		return Profile{}, Behaviour{}, err
	}
	b, err := behaviourOf(m.Switches)
	return profileOf(m), b, err
}

func profileOf(m *report.Report) Profile {
	p := Realistic()
	p.Name = "measured"
	id, entry := report.InstanceID, ""
	if m.Cluster.Tier == Enterprise { // entries come late there
		id, entry = report.LinodeListed, report.NodeEntry
	}
	for _, d := range []struct {
		span  *Span
		names []string // the first that was measured counts
	}{
		{&p.Request, []string{report.Request}},
		{&p.InstanceID, []string{id}},
		{&p.NodeListed, []string{entry}},
		{&p.Tagged, []string{report.LinodeTagged}},
		{&p.Join, []string{report.NodeReady, report.Ready}},
		{&p.Gone, []string{report.Gone}},
		{&p.Repair, []string{report.Repair}},
	} {
		for _, name := range d.names {
			if least, most, ok := m.Range(name); ok {
				*d.span = Span{Min: least, Max: most}
				break
			}
		}
	}
	if _, _, ok := m.Range(report.Request); ok {
		p.WriteLKE = Span{} // the report times reads alone; writes take as long here
	}
	p.StaleReads = lag(m, report.PoolReadLag, report.LinodeReadLag)
	p.StaleLists = lag(m, report.PoolListLag, report.LinodeListLag)
	return p
}

// lag returns the longest lag that the report proves for one of these views.
func lag(m *report.Report, names ...string) time.Duration {
	var longest int64
	for _, name := range names {
		for _, s := range m.Delays[name] {
			longest = max(longest, s.AtLeast)
		}
	}
	return time.Duration(longest) * time.Millisecond
}

// behaviourOf reads the switches. A value that a switch cannot have is an error: the
// report is from another version, or was edited.
func behaviourOf(switches map[string]string) (Behaviour, error) {
	var b Behaviour
	var wrong []error
	choose := func(name string, values map[string]func()) {
		value, found := switches[name]
		if !found {
			return
		}
		set, known := values[value]
		if !known {
			wrong = append(wrong, fmt.Errorf("switches.%s is %q; the simulator has no such behaviour", name, value))
			return
		}
		set()
	}
	none := func() {}
	choose(report.LostLinode, map[string]func(){report.ValueRecreated: none, report.ValueLeft: func() { b.LostLinode = LeaveHole }})
	choose(report.LastNode, map[string]func(){
		report.ValuePoolKept: none, report.ValuePoolRemoved: func() { b.LastNode = RemovePool },
		report.ValueRefused: func() { b.LastNode = RefuseLastDelete },
	})
	choose(report.ZeroCount, map[string]func(){report.ValueRefused: none, report.ValueAccepted: func() { b.AllowZeroCount = true }})
	choose(report.ReservedTaintKeys,
		map[string]func(){report.ValueAccepted: none, report.ValueRefused: func() { b.RefuseReservedTaintKeys = true }})
	choose(report.PoolFilter, map[string]func(){report.ValueHonoured: none, report.ValueIgnored: func() { b.IgnorePoolFilter = true }})
	choose(report.UnlistedNode, map[string]func(){report.ValueFound: none, report.ValueNotFound: func() { b.UnlistedNotFound = true }})
	choose(report.PageBeyondEnd, map[string]func(){report.ValueNotFound: none, report.ValueEmptyPage: func() { b.LenientPages = true }})
	if form := switches[report.LabelForm]; form != "" && form != report.ValueLKELabel {
		b.LabelForm = strings.TrimPrefix(form, report.ValueUnknownPrefix)
		if !strings.Contains(b.LabelForm, LabelHex) {
			wrong = append(wrong, fmt.Errorf("switches.%s is %q; it must contain %s, or labels would not be unique", report.LabelForm, form,
				LabelHex))
		}
	}
	return b, errors.Join(wrong...)
}
