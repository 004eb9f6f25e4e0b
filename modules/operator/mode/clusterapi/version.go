package clusterapi

import (
	"sync"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
)

// version remembers the version of the API server that nodes join. It is safe for concurrent use.
type version struct {
	server discovery.ServerVersionInterface

	mu   sync.Mutex
	last string
	at   time.Time
}

func newVersion(server discovery.ServerVersionInterface) *version { return &version{server: server} }

// read returns the version. If the version cannot be read now, it returns the last version that was read, or "".
func (v *version) read(now time.Time) string {
	v.mu.Lock()
	last, young := v.last, now.Sub(v.at) < mode.AnswerTTL
	v.mu.Unlock()
	if young {
		return last
	}
	found, err := v.server.ServerVersion()
	if err != nil {
		return last
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last, v.at = found.GitVersion, now
	return v.last
}
