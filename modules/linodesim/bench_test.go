package linodesim_test

import (
	"net/http"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// BenchmarkList lists one page of 500 from 2,000 Linodes in 200 pools.
func BenchmarkList(b *testing.B) {
	for name, header := range map[string]string{"plain": "", "filtered": `{"+and":[{"tags":"team-a"},{"label":{"+contains":"lke"}}]}`} {
		b.Run(name, func(b *testing.B) {
			sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
			if err != nil {
				b.Fatal(err)
			}
			addPools(b, sim, 200, 10)
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequestWithContext(b.Context(), "GET", "http://api.example/v4beta/linode/instances?page_size=500", nil)
				r.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
				if header != "" {
					r.Header.Set("X-Filter", header)
				}
				answer, err := sim.Transport().RoundTrip(r)
				if err != nil || answer.StatusCode != 200 {
					b.Fatal(answer, err)
				}
				if err := answer.Body.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNew makes a simulator with a small cluster, as thousands of
// simulated schedules do.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sim, err := linodesim.New(linodesim.Config{})
		if err != nil {
			b.Fatal(err)
		}
		addPools(b, sim, 1, 1)
	}
}
