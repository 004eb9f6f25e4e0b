package world

import (
	"math/rand/v2"
	"time"
)

// Span is a range from which a delay is drawn, both ends included.
type Span struct {
	Min, Max time.Duration
}

// Exactly is the span that always gives d.
func Exactly(d time.Duration) Span { return Span{Min: d, Max: d} }

func (s Span) draw(r *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(r.Int64N(int64(s.Max-s.Min)+1))
}

func (s Span) scaled(by float64) Span {
	return Span{Min: time.Duration(float64(s.Min) / by), Max: time.Duration(float64(s.Max) / by)}
}

// Profile is how long the platform takes for each step.
type Profile struct {
	Name       string
	Request    Span // answering one HTTP request
	InstanceID Span // from a node being asked for to its Linode having an ID
	NodeListed Span // Enterprise: from a node being asked for to its place in the pool's nodes[]
	Tagged     Span // Enterprise: from the Linode having an ID to LKE's tags being on it
	Join       Span // from the Linode having an ID to its kubelet joining the cluster
	Gone       Span // from a node's deletion to its Linode's disappearance
	Repair     Span // from a Linode being deleted directly to LKE replacing it

	// ControlPlane is from a cluster being asked for over HTTP to its
	// kubeconfig and the addresses of its API server.
	ControlPlane Span

	// How late reads may be: each shows the world as it was up to so long ago.
	StaleReads time.Duration // of one object
	StaleLists time.Duration // of a collection

	Trouble Trouble
}

// Trouble is with which probability requests go wrong.
type Trouble struct {
	NotFound     float64 // a read of one object is a 404 although the object exists
	MissingEntry float64 // a list lacks one of its entries
	PageShift    float64 // a list's later pages skip an entry
	NoEffect     float64 // a PUT or DELETE is answered with success and changes nothing
	LostAnswer   float64 // a write is carried out, and the connection breaks
	Hang         float64 // a request gets no answer until the caller goes away
}

// Boot is from a node being asked for to its joining.
func (p Profile) Boot() Span {
	return Span{Min: p.InstanceID.Min + p.Join.Min, Max: p.InstanceID.Max + p.Join.Max}
}

// Fast is for quick tests and demonstrations.
func Fast() Profile {
	ms := time.Millisecond
	return Profile{
		Name: "fast", Request: Exactly(5 * ms), InstanceID: Exactly(200 * ms), NodeListed: Exactly(500 * ms),
		Join: Exactly(time.Second), Gone: Exactly(200 * ms), Repair: Exactly(time.Second),
		ControlPlane: Exactly(time.Second),
	}
}

// Realistic is an ordinary day. Its figures are those observed or documented
// where there are any: instance IDs within seconds, minutes until a node joins.
func Realistic() Profile {
	ms, s := time.Millisecond, time.Second
	return Profile{
		Name: "realistic", Request: Span{150 * ms, 400 * ms}, InstanceID: Span{2 * s, 10 * s}, NodeListed: Span{30 * s, 60 * s},
		Tagged: Span{0, s}, Join: Span{90 * s, 200 * s}, Gone: Span{2 * s, 10 * s}, Repair: Span{30 * s, 120 * s},
		ControlPlane: Span{60 * s, 180 * s},
	}
}

// Slow is a bad day, for finding assumptions.
func Slow() Profile {
	ms, s := time.Millisecond, time.Second
	return Profile{
		Name: "slow", Request: Span{400 * ms, 2 * s}, InstanceID: Span{30 * s, 60 * s}, NodeListed: Span{60 * s, 120 * s},
		Tagged: Span{0, 5 * s}, Join: Exactly(300 * s), Gone: Span{30 * s, 60 * s}, Repair: Span{120 * s, 300 * s},
		ControlPlane: Span{180 * s, 300 * s},
	}
}

// Stale is Realistic with reads that lag behind writes, each by another time.
func Stale() Profile {
	p := Realistic()
	p.Name, p.StaleReads, p.StaleLists = "stale", 4*time.Second, 2*time.Minute
	return p
}

// Hostile is Stale with everything that may go wrong at once. The figures are
// chosen so that a scale-up of ten nodes meets most of them.
func Hostile() Profile {
	p := Stale()
	p.Name = "hostile"
	p.Trouble = Trouble{NotFound: 0.02, MissingEntry: 0.05, PageShift: 0.05, NoEffect: 0.02, LostAnswer: 0.02, Hang: 0.005}
	return p
}

func profiles() []Profile { return []Profile{Fast(), Realistic(), Slow(), Stale(), Hostile()} }

// ProfileNamed finds one of ProfileNames.
func ProfileNamed(name string) (Profile, bool) {
	for _, p := range profiles() {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// ProfileNames lists fast, realistic, slow, stale and hostile.
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
	for _, s := range []*Span{&p.Request, &p.InstanceID, &p.NodeListed, &p.Tagged, &p.Join, &p.Gone, &p.Repair, &p.ControlPlane} {
		*s = s.scaled(by)
	}
	for _, d := range []*time.Duration{&p.StaleReads, &p.StaleLists} {
		*d = time.Duration(float64(*d) / by)
	}
	return p
}
