package plane

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/gofrs/flock"
)

// ports of one control plane, all on loopback.
type ports struct {
	etcdClient, etcdPeer, apiserver, controllerManager, scheduler, kwok int
}

// Ports are chosen below the ports that systems give to outgoing connections (from
// 32768 on Linux, 49152 elsewhere): a connection of some other component could
// otherwise take a port between its choice and its use.
const (
	lowestPort  = 15000
	highestPort = 32767
	portTries   = 1000
)

// freePorts chooses the ports of one control plane.
func freePorts(apiserver int) (ports, error) {
	all := ports{apiserver: apiserver}
	want := []*int{&all.etcdClient, &all.etcdPeer, &all.controllerManager, &all.scheduler, &all.kwok}
	if apiserver == 0 {
		want = append(want, &all.apiserver)
	}
	numbers, err := FreePorts(len(want))
	if err != nil {
		return ports{}, err
	}
	for i, port := range want {
		*port = numbers[i]
	}
	return all, nil
}

// FreePorts returns n different ports on which no process listens, and reserves them
// for this process until it ends: some ports are used a minute later, and other
// clusters choose their ports in the meantime.
func FreePorts(n int) ([]int, error) {
	// The mode of /tmp, so that all users of the machine share the folder.
	const mode = 0o777 | os.ModeSticky
	folder := filepath.Join(os.TempDir(), "localcluster-ports")
	if err := os.Mkdir(folder, mode); err == nil {
		_ = os.Chmod(folder, mode) // the umask removed rights in Mkdir; without these rights other users get an error
	} else if !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var numbers []int
	last := errors.New("all are in use")
	for range portTries {
		if len(numbers) == n {
			return numbers, nil
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if err := reserve(folder, port); err != nil {
			last = err
			continue
		}
		numbers = append(numbers, port)
	}
	return nil, last
}

// reserved has the open file of each reserved port. It keeps the files open: Go closes a
// file that no variable refers to, and the lock ends with the file.
var reserved sync.Map

// reserve takes the lock of a port. It returns an error if another process has the lock
// or listens on the port. The kernel releases the lock when this process ends.
func reserve(folder string, port int) error {
	lock := flock.New(filepath.Join(folder, strconv.Itoa(port)))
	if taken, err := lock.TryLock(); err != nil || !taken {
		return errors.Join(errors.New("another process has reserved it"), err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	reserved.Store(port, lock)
	return listener.Close()
}
