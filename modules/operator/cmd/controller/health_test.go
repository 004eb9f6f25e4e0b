package main

import (
	"net/http"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// A token that is refused makes the process not ready until a request that needs the token succeeds. Each change is announced once.
func TestARefusedTokenMakesTheProcessNotReady(t *testing.T) {
	health := newAPIHealth()
	for _, call := range []struct {
		route   string
		status  int
		changed bool
		ready   bool
	}{
		{"/linode/instances", http.StatusOK, false, true},
		{"/linode/instances", http.StatusForbidden, false, true},
		{"/linode/instances", http.StatusUnauthorized, true, false},
		{"/lke/clusters/{clusterId}/pools", http.StatusUnauthorized, false, false},
		{"/linode/types", http.StatusOK, false, false},
		{"/linode/instances", http.StatusOK, true, true},
		{"/linode/instances", http.StatusUnauthorized, true, false},
	} {
		health.observe(linode.Call{Route: call.route, Status: call.status})
		if err := health.check(nil); len(health.changed) == 1 != call.changed || (err == nil) != call.ready {
			t.Errorf("after %d of %s: %d announced, %v", call.status, call.route, len(health.changed), err)
		}
		for len(health.changed) > 0 {
			<-health.changed
		}
	}
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized} { // no controller listens: no call waits
		health.observe(linode.Call{Route: "/linode/instances", Status: status})
	}
}
