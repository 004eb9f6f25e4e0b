package joining_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/joining"
)

type published []string

func (p *published) Publish(all ...events.Event) {
	for _, e := range all {
		if len(e.DedupeValues) == 0 {
			panic("an event that core's recorder would repeat")
		}
		*p = append(*p, e.Type+" "+e.Reason+": "+e.Message)
	}
}

// launch is when the time of a test begins.
var launch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func booting() *karpv1.NodeClaim {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-x7k2p", UID: "uid",
		Labels: map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-2", karpv1.NodePoolLabelKey: "default"}}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	claim.Status.ProviderID = "linode://94907002"
	claim.Status.Conditions = []status.Condition{
		{Type: karpv1.ConditionTypeLaunched, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(launch)},
		{Type: karpv1.ConditionTypeRegistered, Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(launch)},
	}
	return claim
}

// reconcile looks at the NodeClaim as often as changes of it would make it, and returns the pause.
func reconcile(t *testing.T, c *joining.Controller, claim *karpv1.NodeClaim) (pause time.Duration) {
	t.Helper()
	for range 3 {
		result, err := c.Reconcile(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		pause = result.RequeueAfter
	}
	return pause
}

func unheard(string, string, time.Time) {}

// Pauses that the process before has stored may be taken up after the first look at a NodeClaim.
func TestANodeThatHasJoinedEndsPausesForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, reported := &published{}, 0
		c := joining.NewController(cluster(), told, func(nodePool, plan string, at time.Time) {
			if nodePool != "default" || plan != "g6-standard-2" || !at.Equal(launch) {
				t.Errorf("%s, %s, %s", nodePool, plan, at)
			}
			reported++
		})
		claim := booting()
		claim.Status.Conditions[1].Status = metav1.ConditionTrue
		for pause := time.Nanosecond; pause > 0; {
			time.Sleep(pause)
			result, err := c.Reconcile(t.Context(), claim)
			if err != nil {
				t.Fatal(err)
			}
			pause = result.RequeueAfter
		}
		if reported != 13 || time.Since(launch) < time.Hour || len(*told) > 0 {
			t.Errorf("reported %d times in %s, %v", reported, time.Since(launch), *told)
		}
	})
}

func cluster(claims ...client.Object) client.Client {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(claims, pool)...).Build()
}

// 240 nodes with a long boot cause 480 events on NodeClaims, and not one event for each minute.
func TestALongBootIsTwoEventsOnTheNodeClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, claim := &published{}, booting()
		c := joining.NewController(cluster(claim), told, unheard)
		time.Sleep(4 * time.Second)
		for rounds := 0; ; rounds++ {
			pause := reconcile(t, c, claim)
			if pause == 0 {
				break
			}
			if rounds > 20 {
				t.Fatal("it goes on after core has given the NodeClaim up")
			}
			time.Sleep(pause + 40*time.Millisecond)
		}
		ofClaims := slices.DeleteFunc(slices.Clone(*told), func(e string) bool { return !strings.Contains(e, "Linode 94907002") })
		if len(ofClaims) != 2 || !strings.Contains(ofClaims[1], "launched 10 min ago") {
			t.Fatalf("%q", ofClaims)
		}
		if want := "Normal WaitingForNode: Linode 94907002, a g6-standard-2, was launched 3 min ago and its node has not joined yet; " +
			"Karpenter deletes this NodeClaim after 15 min, at 00:15:00 UTC"; ofClaims[0] != want {
			t.Errorf("got  %s\nwant %s", ofClaims[0], want)
		}
	})
}

func TestANodePoolHasTheSumOfItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var claims []*karpv1.NodeClaim
		var objects []client.Object
		for n := range 240 {
			claim := booting()
			claim.Name, claim.UID = fmt.Sprint("default-", n), types.UID(fmt.Sprint("uid-", n))
			if n < 40 {
				claim.Status.Conditions[1].Status = metav1.ConditionTrue
			}
			claims, objects = append(claims, claim), append(objects, claim)
		}
		told := &published{}
		c := joining.NewController(cluster(objects...), told, unheard)
		for range 2 {
			for _, claim := range claims {
				reconcile(t, c, claim)
			}
			time.Sleep(3*time.Minute + time.Second)
		}
		sums := slices.DeleteFunc(slices.Clone(*told), func(e string) bool { return !strings.Contains(e, "of this NodePool") })
		want := []string{"Normal WaitingForNode: The nodes of 200 Linodes of this NodePool have not joined yet; " +
			"the first Linode was launched 3 min ago"}
		if !slices.Equal(sums, want) {
			t.Errorf("got %q", sums)
		}
		if len(*told) != 200+1 {
			t.Errorf("%d events, want one for each node and the sum", len(*told))
		}
	})
}

// A replica takes over after a mark has passed: the previous replica has reported this mark.
func TestANewLeaderReportsFromTheNextMarkOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, claim := &published{}, booting()
		c := joining.NewController(cluster(claim), told, unheard)
		time.Sleep(3*time.Minute + 25*time.Second)
		if pause := reconcile(t, c, claim); pause != 6*time.Minute+35*time.Second || len(*told) != 0 {
			t.Errorf("looks again after %s, told %q", pause, *told)
		}
		time.Sleep(6*time.Minute + 35*time.Second)
		reconcile(t, c, claim)
		if len(*told) != 2 || !strings.Contains((*told)[0], "launched 10 min ago") {
			t.Errorf("told %q", *told)
		}
	})
}

func TestNothingIsReportedOfANodeClaimThatDoesNotBoot(t *testing.T) {
	for name, change := range map[string]func(*karpv1.NodeClaim){
		"not launched":       func(c *karpv1.NodeClaim) { c.Status.Conditions = nil },
		"being deleted":      func(c *karpv1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: launch} },
		"another provider's": func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Kind = "EC2NodeClass" },
	} {
		synctest.Test(t, func(t *testing.T) {
			told, claim := &published{}, booting()
			change(claim)
			c := joining.NewController(cluster(), told, unheard)
			for range 5 {
				if pause := reconcile(t, c, claim); pause != 0 {
					t.Errorf("%s: looked at again after %s", name, pause)
				}
				time.Sleep(time.Minute)
			}
			if len(*told) != 0 {
				t.Errorf("%s: told %q", name, *told)
			}
		})
	}
}

func TestCoreGivesANodeUpAfterTheTimeThatTheEventNames(t *testing.T) {
	dir, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg/controllers/nodeclaim/lifecycle/liveness.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`registrationTimeout\s+= time\.Minute \* 15\n`).Match(source) || joining.GivenUpAfter != 15*time.Minute {
		t.Error("core's registration timeout is another one: correct GivenUpAfter")
	}
}
