package linodesim

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// Span is a range from which a delay is drawn, both limits included.
type Span struct {
	Min, Max time.Duration
}

// Exactly returns the span that always gives d.
func Exactly(d time.Duration) Span { return Span{Min: d, Max: d} }

func (s Span) scaled(by float64) Span {
	return Span{Min: time.Duration(float64(s.Min) / by), Max: time.Duration(float64(s.Max) / by)}
}

// Profile holds how long the platform takes for each step, how late its reads are
// and how often requests meet a fault.
type Profile struct {
	Name       string
	Request    Span // answering one HTTP request
	WriteLKE   Span // answering a POST, PUT or DELETE of LKE; zero = as any other request
	InstanceID Span // from a node's request to its Linode having an ID
	NodeListed Span // Enterprise: from a node's request to its place in the pool's nodes[]
	Tagged     Span // Enterprise: from the Linode having an ID to LKE's tags being on it
	Join       Span // from the Linode having an ID to its kubelet joining the cluster
	Job        Span // from the request of a disk or a volume to its being ready, or attached
	Gone       Span // from a node's deletion to its Linode's disappearance
	Repair     Span // from a Linode being deleted directly to LKE replacing it

	PlainLinode PlainLinode
	NewCluster  NewCluster

	// Reads may lag: a read shows the world as it was at a random time, at most this
	// long ago.
	StaleReads time.Duration // of one object
	StaleLists time.Duration // of a collection

	Faults FaultRates
}

// PlainLinode has the delays of a Linode that is no node of LKE.
type PlainLinode struct {
	Running Span // from the Linode's request to its running; zero = four fifths of Profile.Join
	Settle  Span // how long a running Linode still refuses jobs with "Linode busy."
}

// NewCluster has the delays of a cluster that is made over HTTP.
type NewCluster struct {
	ControlPlane Span // from the cluster's request to its kubeconfig
	Endpoints    Span // from the cluster's request to the addresses of its API server
}

// FaultRates are the probabilities with which requests, and new nodes, meet a fault.
type FaultRates struct {
	NotFound     float64 // a read of one object is a 404 although the object exists
	MissingEntry float64 // a list lacks one of its entries
	PageShift    float64 // a list's later pages skip an entry
	NoEffect     float64 // a PUT or DELETE is answered with success and changes nothing
	LostAnswer   float64 // a write is carried out, and the connection breaks
	Hang         float64 // a request gets no answer until the caller goes away

	Late          float64       // a write is answered 504 or not at all, and carried out later
	LateBy        time.Duration // the longest delay of such a write
	NotFoundGroup float64       // a read of one object begins a window in which all such reads are 404s
	NotFoundFor   time.Duration // length of the window

	Silence    float64       // a node of Enterprise is accepted and has no Linode
	SilenceFor time.Duration // how long it has no Linode
}

// Boot returns the time from a node's request to its joining.
func (p Profile) Boot() Span {
	return Span{Min: p.InstanceID.Min + p.Join.Min, Max: p.InstanceID.Max + p.Join.Max}
}

// Fast returns the profile for tests and demonstrations: an instance ID after
// 0.2 s, joining 1 s later, 5 ms per request.
func Fast() Profile {
	ms := time.Millisecond
	return Profile{
		Name: "fast", Request: Exactly(5 * ms), InstanceID: Exactly(200 * ms), NodeListed: Exactly(500 * ms),
		Join: Exactly(time.Second), Job: Exactly(200 * ms), Gone: Exactly(200 * ms), Repair: Exactly(time.Second),
		NewCluster: NewCluster{ControlPlane: Exactly(time.Second), Endpoints: Exactly(200 * ms)},
	}
}

// Realistic returns the profile of an ordinary day. Each figure names its source: FACTS 18 is its second table, of recorded answers.
func Realistic() Profile {
	ms, s := time.Millisecond, time.Second
	return Profile{
		Name:       "realistic",
		Request:    Span{150 * ms, 400 * ms}, // FACTS 18: reads and everything else but LKE's writes 0 to 1 s; the range within is a guess
		WriteLKE:   Span{2 * s, 4 * s},       // FACTS 18: POST pools 2 s, PUT pool 2 to 4 s, DELETE of a pool or a node 2 s, PUT cluster 3 s
		InstanceID: Span{0, 2 * s},           // FACTS 18: the second slot of POST pools, 3 of 3, Standard; on Enterprise a guess
		NodeListed: Span{30 * s, 60 * s},     // DESIGN 2: Enterprise node lists lag by 30 to 60 s
		Tagged:     Span{0, s},               // a guess
		Join:       Span{85 * s, 200 * s},    // FACTS 18: registered 85 s after the launch (one log), "over 3 minutes" (a README)
		Job:        Span{2 * s, 12 * s},      // FACTS 18: volumes within one poll of 15 s; the range within is a guess
		PlainLinode: PlainLinode{
			Running: Span{30 * s, 105 * s}, // FACTS 18: POST to running, 12 samples of g6-nanode-1
			Settle:  Span{0, 4 * s},        // FACTS 18: "Linode busy." for up to 4 s more
		},
		Gone:   Span{2 * s, 10 * s},   // a guess
		Repair: Span{30 * s, 120 * s}, // a guess
		NewCluster: NewCluster{
			ControlPlane: Span{101 * s, 254 * s}, // FACTS 18: kubeconfig between (101, 129] and (232, 254] s
			Endpoints:    Span{5 * s, 10 * s},    // FACTS 18: 503 at 5 s, 200 at 10 s
		},
	}
}

// Slow returns the profile of a bad day, for finding assumptions: IDs after 30 to
// 60 s, joining after 300 s, up to 2 s per request.
func Slow() Profile {
	ms, s := time.Millisecond, time.Second
	return Profile{
		Name: "slow", Request: Span{400 * ms, 2 * s}, InstanceID: Span{30 * s, 60 * s}, NodeListed: Span{60 * s, 120 * s},
		Tagged: Span{0, 5 * s}, Join: Exactly(300 * s), Gone: Span{30 * s, 60 * s}, Repair: Span{120 * s, 300 * s},
		WriteLKE: Span{2 * s, 4 * s}, Job: Span{30 * s, 60 * s}, PlainLinode: PlainLinode{Settle: Span{0, 10 * s}},
		NewCluster: NewCluster{ControlPlane: Span{180 * s, 300 * s}, Endpoints: Span{10 * s, 60 * s}},
	}
}

// Stale returns Realistic with reads that lag, each by a different time: reads of one
// object by up to 4 s, lists by up to 2 minutes. A few writes take effect late, and a
// few groups of reads are answered 404 by mistake.
func Stale() Profile {
	p := Realistic()
	p.Name, p.StaleReads, p.StaleLists = "stale", 4*time.Second, 2*time.Minute
	p.Faults = FaultRates{Late: 0.01, LateBy: time.Minute, NotFoundGroup: 0.002, NotFoundFor: 3 * time.Second}
	return p
}

// Hostile returns Stale with every fault of FaultRates. The figures are chosen so
// that a scale-up of ten nodes meets most of them.
func Hostile() Profile {
	p := Stale()
	p.Name = "hostile"
	p.Faults.NotFound, p.Faults.MissingEntry, p.Faults.PageShift = 0.02, 0.05, 0.05
	p.Faults.NoEffect, p.Faults.LostAnswer, p.Faults.Hang = 0.02, 0.02, 0.005
	p.Faults.Silence, p.Faults.SilenceFor = 0.03, 5*time.Minute // FACTS 18.7: no Linode and no error; how often and for how long is a guess
	return p
}

// Instant returns the profile for tests that are not about time: every step happens
// together with its cause.
func Instant() Profile { return Profile{Name: "instant"} }

func profiles() []Profile { return []Profile{Fast(), Realistic(), Slow(), Stale(), Hostile()} }

// ProfileNamed finds fast, realistic, slow, stale or hostile.
func ProfileNamed(name string) (Profile, bool) {
	for _, p := range profiles() {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// ProfileNames lists the names that ProfileNamed finds.
func ProfileNames() []string {
	var out []string
	for _, p := range profiles() {
		out = append(out, p.Name)
	}
	return out
}

// Scaled divides every delay by the factor; 10 makes the platform ten times
// as quick.
func (p Profile) Scaled(by float64) Profile {
	if by <= 0 || by == 1 {
		return p
	}
	for _, s := range []*Span{&p.Request, &p.WriteLKE, &p.InstanceID, &p.NodeListed, &p.Tagged, &p.Join, &p.PlainLinode.Running, &p.Job,
		&p.PlainLinode.Settle, &p.Gone, &p.Repair, &p.NewCluster.ControlPlane, &p.NewCluster.Endpoints} {
		*s = s.scaled(by)
	}
	for _, d := range []*time.Duration{&p.StaleReads, &p.StaleLists, &p.Faults.LateBy, &p.Faults.NotFoundFor, &p.Faults.SilenceFor} {
		*d = time.Duration(float64(*d) / by)
	}
	return p
}

// delays returns the part of the profile that the model draws from.
func (p Profile) delays() world.Delays {
	return world.Delays{
		Request: world.Span(p.Request), WriteLKE: world.Span(p.WriteLKE), InstanceID: world.Span(p.InstanceID),
		NodeListed: world.Span(p.NodeListed), Tagged: world.Span(p.Tagged), Join: world.Span(p.Join), Linode: world.Span(p.PlainLinode.Running),
		Job: world.Span(p.Job), Settle: world.Span(p.PlainLinode.Settle), Gone: world.Span(p.Gone), Repair: world.Span(p.Repair),
		ControlPlane: world.Span(p.NewCluster.ControlPlane), Endpoints: world.Span(p.NewCluster.Endpoints),
	}
}
