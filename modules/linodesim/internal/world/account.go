package world

import (
	"slices"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// GetProfile returns an invented user.
func (w Account) GetProfile() (api.Profile, error) {
	return api.Profile{
		UID: new(1000001), Restricted: w.Restricted,
		Username: w.User, Email: w.User + "@example.com", Timezone: new("UTC"), TwoFactorAuth: new(false),
		EmailNotifications: new(false), IPWhitelistEnabled: new(false), LishAuthMethod: new("password_keys"), UserType: new("default"),
		AuthenticationType: new("password"),
		AuthorizedKeys:     nullable.NewNullNullable[[]string](), VerifiedPhoneNumber: nullable.NewNullNullable[string](),
		Referrals: &api.ProfileReferrals{Code: "none", URL: "https://example.com/?r=none"},
	}, nil
}

// initialSettings are the recorded settings.
func initialSettings(backups bool) api.AccountSettings {
	return api.AccountSettings{
		BackupsEnabled: backups, ObjectStorage: "active", MaintenancePolicy: new(api.AccountSettingsMaintenancePolicy(defaultPolicy)),
		InterfacesForNewLinodes: new(api.AccountSettingsInterfacesForNewLinodesLegacyConfigDefaultButLinodeAllowed),
	}
}

// GetAccountSettings returns the settings, which apply to new objects.
func (w Account) GetAccountSettings() (api.AccountSettings, error) { return w.assets.settings, nil }

// UpdateAccountSettings changes the given settings.
func (w Account) UpdateAccountSettings(b *api.AccountSettingsUpdate) (api.AccountSettings, error) {
	w.assets.settings = overlaid[api.AccountSettings](w.assets.settings, b)
	w.note(account.AssetChanged, "account settings", 0)
	w.happened(w.User, "account_settings_update", nil, nil)
	return w.assets.settings, nil
}

// ListAccountEvents lists the events, newest first. Events of changes that the platform makes to a node's Linode have
// the user lke.
func (w Account) ListAccountEvents() ([]api.AccountEvent, error) {
	out := each(w.records.activities.all, w.shownActivity)
	slices.Reverse(out)
	return out, nil
}
