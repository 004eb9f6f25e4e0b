package linodesim_test

import (
	"io"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The size at which lists must stay quick and memory small.
const (
	scalePools = 200
	scaleNodes = 10 // each
)

func largeSim(t testing.TB) *linodesim.Sim {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	if err != nil {
		t.Fatal(err)
	}
	addPools(t, sim, scalePools, scaleNodes)
	return sim
}

// read gets a path and drops what comes.
func read(t testing.TB, rt http.RoundTripper, url string) {
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	answer, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.StatusCode, err)
	}
	_ = answer.Body.Close()
}

// TestScale bounds what 2,000 Linodes in 200 pools cost in memory, and the
// work of one page by its allocations, which unlike time are the same on every
// machine.
func TestScale(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	sim := largeSim(t)
	const page = "http://api.example/v4beta/linode/instances?page_size=500&page="
	for _, number := range []string{"1", "2", "3", "4"} {
		read(t, sim.Transport(), page+number)
	}
	const mb = 1 << 20
	kept := int64(heap()) - int64(before)
	if kept > 50*mb {
		t.Errorf("the simulator holds %d MB", kept/mb)
	}
	allocations := testing.AllocsPerRun(5, func() { read(t, sim.Transport(), page+"2") })
	if allocations > 20_000 {
		t.Errorf("a page of 500 takes %.0f allocations, 40 for each entry", allocations)
	}
	t.Logf("%d KB held, %.0f allocations for a page", kept/1024, allocations)
	if s := sim.Snapshot(); len(s.Instances) != scalePools*scaleNodes {
		t.Errorf("%d Linodes", len(s.Instances))
	}
}

// BenchmarkPage500 measures pages of 500 over a real connection.
func BenchmarkPage500(b *testing.B) {
	for name, path := range map[string]string{"instances": "/v4beta/linode/instances?page_size=500&page=2", "pools": ""} {
		b.Run(name, func(b *testing.B) {
			sim := largeSim(b)
			if path == "" {
				path = "/v4beta/lke/clusters/584601/pools?page_size=500"
			}
			url := serve(b, sim)
			took := []time.Duration{}
			for b.Loop() {
				start := time.Now()
				read(b, http.DefaultTransport, url+path)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
		})
	}
}
