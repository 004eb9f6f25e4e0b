package world

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// GetProfile makes the user up.
func (w Account) GetProfile() (api.Profile, error) {
	return api.Profile{
		UID: new(1000001), Username: w.User, Email: w.User + "@example.com", Timezone: new("UTC"), TwoFactorAuth: new(false),
		EmailNotifications: new(false), IPWhitelistEnabled: new(false), LishAuthMethod: new("password_keys"), AuthenticationType: new("password"),
		AuthorizedKeys: nullable.NewNullNullable[[]string](), VerifiedPhoneNumber: nullable.NewNullNullable[string](),
		Referrals: &api.ProfileReferrals{Code: "none", URL: "https://example.com/?r=none"},
	}, nil
}

// GetAccount makes the account up.
func (w Account) GetAccount() (api.Account, error) {
	capabilities := map[string]bool{}
	for _, region := range w.catalog.Regions {
		for _, c := range region.Capabilities {
			capabilities[c] = true
		}
	}
	return api.Account{
		Company: "Example", Email: "owner@example.com", FirstName: "Example", LastName: "Owner", Country: "US",
		ActiveSince: api.Time{Time: w.since}, Capabilities: slices.Sorted(maps.Keys(capabilities)),
		CreditCard: &map[string]any{"last_four": "0000", "expiry": "01/2040"}, ActivePromotions: []map[string]any{},
		Euuid: "00000000-0000-0000-0000-000000000000",
	}, nil
}

// GetAccountSettings gives those recorded.
func (w Account) GetAccountSettings() (api.AccountSettings, error) {
	return api.AccountSettings{
		BackupsEnabled: w.accountBackups, ObjectStorage: "active", MaintenancePolicy: new(api.AccountSettingsMaintenancePolicy(defaultPolicy)),
		InterfacesForNewLinodes: new(api.AccountSettingsInterfacesForNewLinodesLegacyConfigDefaultButLinodeAllowed),
	}, nil
}

// eventNames are those of changes that the account's list of events has.
var eventNames = map[string]string{
	ClusterCreated: "lke_cluster_create", ClusterDeleted: "lke_cluster_delete", ClusterEdited: "lke_cluster_update",
	ClusterUpgraded: "lke_cluster_update", PoolCreated: "lke_pool_create", PoolDeleted: "lke_pool_delete",
	PoolCount: "lke_pool_update", PoolEdited: "lke_pool_update", NodeRequested: "lke_node_create",
	InstanceCreated: "linode_create", InstanceGone: "linode_delete", InstanceEdited: "linode_update", InstanceTagged: "linode_update",
}

// firstEvent is near the IDs that were recorded.
const firstEvent = 301189000

// ListAccountEvents lists a part of the audit log in the API's words, newest first. What the platform does to a node's
// Linode has the user lke.
func (w Account) ListAccountEvents() ([]api.AccountEvent, error) {
	var out []api.AccountEvent
	for _, e := range slices.Backward(w.records.audit) {
		name := eventNames[e.Action]
		if e.Action == InstanceStatus {
			name = map[string]string{StatusBooting: "linode_boot", StatusShuttingDown: "linode_shutdown"}[e.After]
		}
		if name != "" {
			out = append(out, api.AccountEvent{
				ID: firstEvent + e.Seq, Created: api.Time{Time: e.At}, PercentComplete: new(100), Action: name, Username: &e.Actor.User,
				Status: "finished", Entity: w.entity(e), Message: new(""),
			})
		}
	}
	return out, nil
}

func (w Account) entity(e Entry) *api.AccountEventEntity {
	if e.InstanceID != 0 {
		out := api.AccountEventEntity{ID: e.InstanceID, Type: "linode", URL: fmt.Sprintf("/v4/linode/instances/%d", e.InstanceID)}
		if i := w.instances[e.InstanceID]; i != nil {
			out.Label = i.Label
		}
		return &out
	}
	out := api.AccountEventEntity{ID: e.ClusterID, Type: "lkecluster", URL: fmt.Sprintf("/v4/lke/clusters/%d", e.ClusterID)}
	if c := w.clusters[e.ClusterID]; c != nil {
		out.Label = c.Label
	}
	return &out
}

// GetAccountEvent finds one.
func (w Account) GetAccountEvent(eventID int) (api.AccountEvent, error) {
	all, err := w.ListAccountEvents()
	if at := slices.IndexFunc(all, func(e api.AccountEvent) bool { return e.ID == eventID }); at >= 0 {
		return all[at], err
	}
	return api.AccountEvent{}, NotFound()
}
