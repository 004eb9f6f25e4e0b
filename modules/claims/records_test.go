package claims_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

func TestARecordMapKeepsWhoHasWhat(t *testing.T) {
	var m claims.RecordMap
	a := claims.Claimant{Name: "a", UID: "1"}
	m.Store(7, a)
	var records claims.Records = &m
	if who, held := records.Holder(7); !held || who != a {
		t.Errorf("7 is held by %v, %t", who, held)
	}
	all := m.All()
	m.Forget(7)
	if _, held := m.Holder(7); held || len(all) != 1 {
		t.Errorf("it is held after it was forgotten: %t, %v", held, all)
	}
}

func TestAFunctionIsRecords(t *testing.T) {
	var records claims.Records = claims.Holder(func(id int) (claims.Claimant, bool) { return claims.Claimant{Name: "a"}, id == 7 })
	if who, held := records.Holder(7); !held || who.Name != "a" {
		t.Error("the function is not called")
	}
}
