package plane

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// ports of one control plane, all on loopback.
type ports struct {
	etcdClient, etcdPeer, apiserver, controllerManager, scheduler, kwok int
}

// Ports are chosen below those that systems give to outgoing connections (from
// 32768 on Linux, 49152 elsewhere): a connection of some other component could
// otherwise take a port between its choice and its use.
const (
	lowestPort  = 15000
	highestPort = 32767
	portTries   = 1000
)

// freePorts chooses the ports of one control plane. Another process may still
// take one before its component does, which Start notices.
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

// FreePorts returns n different ports that no process listens on, at random, so that
// clusters that start at the same time seldom choose the same. All are held until
// the last one is chosen.
func FreePorts(n int) ([]int, error) {
	var numbers []int
	last := errors.New("all are in use")
	for range portTries {
		if len(numbers) == n {
			return numbers, nil
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		defer listener.Close()
		numbers = append(numbers, port)
	}
	return nil, last
}
