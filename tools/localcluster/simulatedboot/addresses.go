package simulatedboot

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

var _ = simulate("ip", (*machine).ip)

// ip simulates `ip -4 -o address show scope global [to PREFIX]`, and nothing else: one line for each IPv4 address.
func (m *machine) ip(_ context.Context, call invocation) error {
	asked, to, _ := strings.Cut(strings.Join(call.args, " "), " to ")
	if asked != "-4 -o address show scope global" {
		return fmt.Errorf("%q: only -4 -o address show scope global is simulated, and to PREFIX behind it", asked)
	}
	within := netip.MustParsePrefix("0.0.0.0/0")
	if to != "" {
		var err error
		if within, err = netip.ParsePrefix(to); err != nil {
			return err
		}
	}
	for _, a := range m.addresses() {
		if address, err := netip.ParseAddr(a); err != nil || !within.Contains(address) {
			continue
		}
		fmt.Fprintf(call.out, "2: eth0    inet %s/24 scope global eth0\\       valid_lft forever preferred_lft forever\n", a)
	}
	return nil
}

// addresses returns the machine's IPv4 addresses. In a VPC the public address leads to the VPC address, and the machine does not have it.
func (m *machine) addresses() []string {
	e := m.event
	all := []string{e.PublicIPv4, e.PrivateIPv4, e.VPCIPv4}
	if e.VPCIPv4 != "" {
		all = all[1:]
	}
	return slices.DeleteFunc(all, func(a string) bool { return a == "" })
}

const nodeIPFlag = "--node-ip="

// ownNodeIP checks --node-ip as the kubelet does, and returns the flag's value and the other flags. The flag itself is left out, because
// the kubelet's own check knows only the addresses of this host. The machine's program registers the Node with the address, but without the
// flag's annotation.
func (m *machine) ownNodeIP(flags []string) (address string, rest []string, err error) {
	for _, flag := range flags {
		value, is := strings.CutPrefix(flag, nodeIPFlag)
		switch {
		case !is:
			rest = append(rest, flag)
		case value != "" && !slices.Contains(m.addresses(), value):
			return "", nil, fmt.Errorf("failed to validate nodeIP: node IP: %q not found in the host's network interfaces", value)
		case value != "":
			fmt.Fprintf(m.console, "[kubelet] node IP %s\n", value)
			address = value
		}
	}
	return address, rest, nil
}
