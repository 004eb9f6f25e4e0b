package launches_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

func source(nodePool types.UID, poolVersion int64, class types.UID, classVersion int64) launches.Source {
	return launches.Source{NodePool: launches.Version{UID: nodePool, Generation: poolVersion},
		NodeClass: launches.Version{UID: class, Generation: classVersion}}
}

// refuse records a refusal of a launch that a user has to end.
func refuse(m *launches.Memory, from launches.Source, field, message string) {
	m.Failed(launches.Launch{NodePool: "default", NodeClass: "default", From: from},
		&claims.Error{Kind: claims.KindInvalid, Field: field, Effect: claims.EffectNone, Err: errors.New(message)})
}

func TestARefusalConcernsWhatItsFieldIsOf(t *testing.T) {
	for field, ofClass := range map[string]bool{
		"labels": false, "taints[0]": false, "": false, "spec.bootstrap": false, "Key.Template.Labels": false,
		"firewall_id": true, "Spec.Network.Interfaces[0].subnet_id": true, "Spec.Image": true, claims.FieldPlacementGroups: true,
	} {
		t.Run(field, func(t *testing.T) {
			rejected := launches.New(launches.Config{})
			refuse(rejected, source("pool", 1, "class", 1), field, "no such thing")
			for name, c := range map[string]struct {
				from launches.Source
				want bool
			}{
				"the same":                             {source("pool", 1, "class", 1), true},
				"another NodePool of the class":        {source("other", 1, "class", 1), ofClass},
				"the NodePool as it was changed":       {source("pool", 2, "class", 1), ofClass},
				"the class as it was changed":          {source("pool", 1, "class", 2), false},
				"a class of the same name, made again": {source("pool", 1, "another", 1), false},
			} {
				if _, is := rejected.Refused(c.from); is != c.want {
					t.Errorf("%s: refused %t", name, is)
				}
			}
		})
	}
}

func TestARefusalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rejected, from := launches.New(launches.Config{}), source("pool", 1, "class", 1)
		refuse(rejected, from, "", "no")
		time.Sleep(launches.RefusalLasts)
		if _, is := rejected.Refused(from); is || len(rejected.Export().Refusals) != 0 {
			t.Error("what was refused is never tried again")
		}
	})
}

func TestRefusalsAreCarriedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, from := launches.New(launches.Config{}), source("pool", 3, "class", 2)
		refuse(before, from, "firewall_id", "no firewall 7")
		refuse(before, from, "labels", "too many labels")
		text, err := json.Marshal(before.Export())
		if err != nil {
			t.Fatal(err)
		}
		var all launches.State
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		after := launches.New(launches.Config{})
		after.Import(all)
		if r, is := after.Refused(from); !is || !strings.HasSuffix(r.Message, "no firewall 7") {
			t.Errorf("%s: %+v", text, r)
		}
		if _, is := after.Refused(source("pool", 3, "class", 3)); is {
			t.Error("a changed class is refused")
		}
		time.Sleep(launches.RefusalLasts)
		if _, is := after.Refused(from); is {
			t.Error("it does not end")
		}
		late := launches.New(launches.Config{})
		late.Import(all)
		late.Import(launches.State{Refusals: []launches.Refusal{
			{NodeClass: from.NodeClass, Until: time.Now().Add(24 * time.Hour)}, {Until: time.Now().Add(time.Minute)}}})
		if left := late.Export().Refusals; len(left) != 0 {
			t.Errorf("what cannot be is taken up: %+v", left)
		}
	})
}
