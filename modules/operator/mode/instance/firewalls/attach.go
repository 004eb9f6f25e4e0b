package firewalls

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

// attach puts what a Linode has behind its firewall, and takes it out of those that its class had before.
func (c *Controller) attach(ctx context.Context, s *subject) error {
	members, err := c.members(ctx, s.linode)
	if err != nil {
		return err
	}
	entities, _, err := c.cfg.Readings.Protected(ctx, s.firewall)
	if err != nil {
		return err
	}
	former, err := c.former(ctx, s)
	if err != nil {
		return err
	}
	for _, m := range members {
		if slices.ContainsFunc(entities, func(e api.FirewallEntity) bool { there, is, _ := memberOf(e); return is && there == m }) {
			continue
		}
		from := slices.DeleteFunc(slices.Clone(former), func(h held) bool { return h.member != m })
		if err := c.move(ctx, s.firewall, m, from); err != nil {
			return err
		}
	}
	return nil
}

// members returns the parts of a Linode that a firewall can protect: its public and VPC interfaces, or where it has legacy ones the Linode.
func (c *Controller) members(ctx context.Context, linodeID int) ([]member, error) {
	instance, err := c.cfg.API.GetInstance(ctx, linodeID)
	if err != nil {
		return nil, err
	}
	if instance.InterfaceGeneration != api.InstanceInterfaceGenerationLinode {
		return []member{{linode: linodeID}}, nil
	}
	list, err := c.cfg.API.ListInterfaces(ctx, linodeID)
	if err != nil {
		return nil, err
	}
	var members []member
	for _, one := range list.Interfaces {
		if one.Vlan == nil {
			members = append(members, member{linodeID, one.ID})
		}
	}
	return members, nil
}

// held is a member behind a firewall.
type held struct {
	member
	firewall, device int
}

// former returns the members behind firewalls that the class had before this one. A firewall that does not exist any more protects nothing.
func (c *Controller) former(ctx context.Context, s *subject) ([]held, error) {
	var all []held
	for _, firewall := range nodeclass.FirewallHistory(s.class) {
		if firewall == s.firewall {
			continue
		}
		devices, err := c.devicesOf(ctx, firewall)
		if linode.KindOf(err) == linode.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range devices {
			if m, is, _ := memberOf(d.Entity); is && m.linode == s.linode {
				all = append(all, held{m, firewall, d.ID})
			}
		}
	}
	return all, nil
}

// devicesOf shares one list among all Linodes that leave a firewall.
func (c *Controller) devicesOf(ctx context.Context, firewall int) ([]api.FirewallDevice, error) {
	list, err, _ := c.reading.Do(fmt.Sprint(firewall), func() (any, error) {
		if known, ok := c.devices.Get(firewall); ok {
			return known, nil
		}
		all, err := linode.Collect(c.cfg.API.ListFirewallDevices(ctx, firewall))
		if err == nil {
			c.devices.Set(firewall, all, devicesLast)
		}
		return all, err
	})
	if err != nil {
		return nil, err
	}
	return list.([]api.FirewallDevice), nil //nolint:forcetypeassert // the function above returns nothing else
}

// move attaches one member. When that is refused after it was taken out of another firewall, it is put back there: the former rules
// are better than none.
func (c *Controller) move(ctx context.Context, to int, m member, from []held) error {
	for _, h := range from {
		err := c.cfg.API.DeleteFirewallDevice(ctx, h.firewall, h.device)
		if err != nil && linode.KindOf(err) != linode.KindNotFound {
			return err
		}
	}
	_, err := c.cfg.API.CreateFirewallDevice(ctx, to, m.device())
	for _, h := range from {
		if err != nil {
			c.devices.Delete(h.firewall) // where it may be back, as another device
		}
	}
	if len(from) == 0 || !refusal(err) && linode.KindOf(err) != linode.KindNotFound {
		return err
	}
	if _, back := c.cfg.API.CreateFirewallDevice(ctx, from[0].firewall, m.device()); back != nil {
		return errors.Join(err, fmt.Errorf("putting it back behind firewall %d: %w", from[0].firewall, back))
	}
	return err
}

func (m member) device() api.FirewallDeviceCreate {
	if m.iface == 0 {
		return api.FirewallDeviceCreate{ID: m.linode, Type: api.FirewallDeviceCreateTypeLinode}
	}
	return api.FirewallDeviceCreate{ID: m.iface, Type: api.FirewallDeviceCreateTypeLinodeInterface}
}

// refusal reports that the API will not do this, now or with this token.
func refusal(err error) bool { return linode.KindOf(err) == linode.KindInvalid || scopeMissing(err) }

// scopeMissing reports that the API refuses the token for this, whatever the Linode: 403, as documented, or 401.
func scopeMissing(err error) bool {
	kind := linode.KindOf(err)
	return kind == linode.KindForbidden || kind == linode.KindUnauthorized
}
