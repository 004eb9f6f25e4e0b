package lkeprobe_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
)

// ofNodes are the assumptions that only Kubernetes Nodes show; tools/e2e has their lies.
var ofNodes = []report.Assumption{report.LateTaints, report.LessMemory, report.OtherNames}

// In every profile and both tiers no answer breaks an assumption: without a lie the simulator keeps them all.
func TestGreenWhereThePlatformBehaves(t *testing.T) {
	for _, tier := range tiers {
		for _, p := range append(profiles(), linodesim.Stale(), linodesim.Hostile()) {
			t.Run(tier+"/"+p.Name, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(4 / every(4)) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, tier, linodesim.Config{Profile: p, Seed: 20 + seed})
						r, err := w.run(t.Context(), w.config())
						if err != nil {
							t.Fatalf("%v\n%s", err, w.out.String())
						}
						if red := lkeprobe.Red(r); len(red) > 0 {
							t.Errorf("red: %v\n%+v\n%s", red, r.Judgements, w.out.String())
						}
						for _, j := range r.Judgements {
							rare := j.Assumption == report.LateWrites || j.Assumption == report.UnknownRefusal
							if j.Verdict != report.Holds && !rare && !slices.Contains(ofNodes, j.Assumption) && r.Audit.Stopped == "" {
								t.Errorf("%s: %s\n%s", j.Assumption, j.Verdict, w.out.String())
							}
						}
						time.Sleep(20 * time.Minute)
						w.unchanged()
					})
				}
			})
		}
	}
}

// An ID after five minutes is no lie of its own: the profile hostile has a few of them. Where all IDs are so late, no pod gets a node.
func TestRedWhereMostIDsComeAfterTheOperatorsWait(t *testing.T) {
	for _, tier := range tiers {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				late := linodesim.Realistic()
				late.InstanceID, late.NodeListed = linodesim.Exactly(5*time.Minute), linodesim.Exactly(5*time.Minute)
				w := newWorld(t, tier, linodesim.Config{Profile: late})
				r, err := w.run(t.Context(), w.config())
				if r == nil {
					t.Fatal(err)
				}
				if red := lkeprobe.Red(r); !slices.Equal(red, []string{string(report.LateIDs)}) {
					t.Errorf("red: %v\n%+v\n%s", red, r.Judgements, w.out.String())
				}
				time.Sleep(time.Hour)
				w.unchanged()
			})
		})
	}
}

// Each lie about the account turns its assumption red by name, no other one, and leaves nothing behind. With -short each lie is told on one
// tier, in turn: what is judged are the requests and their answers, which have the same forms on both.
func TestRedForEachLie(t *testing.T) {
	for i, about := range report.Assumptions() {
		if slices.Contains(ofNodes, about) {
			continue
		}
		for n, tier := range tiers {
			if testing.Short() && n != i%len(tiers) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", about, tier), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, tier, linodesim.Config{Profile: linodesim.Realistic(), Seed: uint64(n)})
					if err := w.sim.Lie(about); err != nil {
						t.Fatal(err)
					}
					r, err := w.run(t.Context(), w.config())
					if r == nil {
						t.Fatal(err)
					}
					if red := lkeprobe.Red(r); !slices.Equal(red, []string{string(about)}) {
						t.Errorf("red: %v, want %s\n%+v\n%s", red, about, r.Judgements, w.out.String())
					}
					time.Sleep(time.Hour)
					w.unchanged()
				})
			})
		}
	}
}
