package handlers

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listAccountAvailability() (page[api.AccountAvailability], error) {
	return list(r, r.Seen.Catalog().Regions, services)
}

func (r Request) getAccountAvailability(regionID string) (api.AccountAvailability, error) {
	region, ok := r.Seen.Catalog().Region(regionID)
	if !ok {
		return api.AccountAvailability{}, notFound()
	}
	return services(region), nil
}

// An account may use what a region has. The names are those recorded.
func services(r catalog.Region) api.AccountAvailability {
	out := api.AccountAvailability{Region: r.ID, Available: []string{}, Unavailable: []string{}}
	for _, name := range []string{"Linodes", "NodeBalancers", "Block Storage", catalog.CapKubernetes} {
		if slices.Contains(r.Capabilities, name) {
			out.Available = append(out.Available, name)
		} else {
			out.Unavailable = append(out.Unavailable, name)
		}
	}
	return out
}

// The account's settings are those recorded.
func (r Request) getAccountSettings() (api.AccountSettings, error) { //nolint:unparam // the form of all handlers
	interfaces := api.AccountSettingsInterfacesForNewLinodesLegacyConfigDefaultButLinodeAllowed
	policy := api.AccountSettingsMaintenancePolicy("linode/power_off_on")
	return api.AccountSettings{
		BackupsEnabled: r.Seen.AccountBackups(), ObjectStorage: "active",
		InterfacesForNewLinodes: &interfaces, MaintenancePolicy: &policy,
	}, nil
}

// The user and the account are made up.
func (r Request) getProfile() (api.Profile, error) { //nolint:unparam // the form of all handlers
	user, zone, off, lish, kind, uid := r.Actor.User, "UTC", false, "password_keys", "password", 1000001
	return api.Profile{
		UID: &uid, Username: user, Email: user + "@example.com", Timezone: &zone, TwoFactorAuth: &off, EmailNotifications: &off,
		IPWhitelistEnabled: &off, LishAuthMethod: &lish, AuthenticationType: &kind, AuthorizedKeys: nullable.NewNullNullable[[]string](),
		VerifiedPhoneNumber: nullable.NewNullNullable[string](), Referrals: &api.ProfileReferrals{Code: "none", URL: "https://example.com/?r=none"},
	}, nil
}

func (r Request) getAccount() (api.Account, error) { //nolint:unparam // the form of all handlers
	capabilities := map[string]bool{}
	for _, region := range r.Seen.Catalog().Regions {
		for _, c := range region.Capabilities {
			capabilities[c] = true
		}
	}
	return api.Account{
		Company: "Example", Email: "owner@example.com", FirstName: "Example", LastName: "Owner", Country: "US",
		ActiveSince: api.Time{Time: r.Seen.Since()}, Capabilities: slices.Sorted(maps.Keys(capabilities)),
		CreditCard: &map[string]any{"last_four": "0000", "expiry": "01/2040"}, ActivePromotions: []map[string]any{}, Euuid: "00000000-0000-0000-0000-000000000000",
	}, nil
}

// Events come newest first.
func (r Request) listAccountEvents() (page[api.AccountEvent], error) {
	return list(r, r.Seen.Happened(), event)
}

func (r Request) getAccountEvent(eventID int) (api.AccountEvent, error) {
	for _, e := range r.Seen.Happened() {
		if e.ID == eventID {
			return event(e), nil
		}
	}
	return api.AccountEvent{}, notFound()
}

func event(e world.AccountEvent) api.AccountEvent {
	done, message := 100, ""
	entity := api.AccountEventEntity{ID: e.EntityID, Type: e.EntityType, Label: e.EntityLabel, URL: e.URL()}
	return api.AccountEvent{
		ID: e.ID, Created: api.Time{Time: e.At}, PercentComplete: &done, Action: e.Action, Username: &e.User,
		Status: "finished", Entity: &entity, Message: &message,
	}
}

func (r Request) listTags() (page[api.TagObject], error) {
	return list(r, r.Seen.Tags(), func(t string) api.TagObject { return api.TagObject{Label: t} })
}

// Volumes, domains, NodeBalancers and reserved addresses do not exist here, so that none of them can be tagged.
func (r Request) createTag(b *api.TagCreate) (api.TagObject, error) {
	for _, none := range []struct {
		field string
		given int
	}{
		{"volumes", len(value(b.Volumes))}, {"domains", len(value(b.Domains))},
		{"nodebalancers", len(value(b.Nodebalancers))}, {"reserved_ipv4_addresses", len(value(b.ReservedIPv4Addresses))},
	} {
		if none.given > 0 {
			return api.TagObject{}, refusal(none.field, none.field+" is not valid")
		}
	}
	err := r.Live.CreateTag(r.Actor, b.Label, value(b.Linodes), value(b.LKEClusters))
	return api.TagObject{Label: b.Label}, err
}

func (r Request) deleteTag(label string) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteTag(r.Actor, label)
}

func (r Request) listTaggedObjects(label string) (page[api.TaggedObject], error) {
	linodes, clusters, err := r.Seen.Tagged(label)
	if err != nil {
		return page[api.TaggedObject]{}, err
	}
	var all []api.TaggedObject
	for _, i := range linodes {
		all = append(all, tagged("linode", instance(i, r)))
	}
	for _, c := range clusters {
		all = append(all, tagged("lke_cluster", cluster(c, r.Beta)))
	}
	return list(r, all, func(o api.TaggedObject) api.TaggedObject { return o })
}

func tagged(kind string, object any) api.TaggedObject {
	out := api.TaggedObject{Type: kind, Data: map[string]any{}}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &out.Data)
	}
	if err != nil { // our own types always marshal to objects
		panic(err)
	}
	return out
}
