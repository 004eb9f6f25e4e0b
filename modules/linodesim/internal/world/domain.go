package world

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// domain is a domain with its records. Nothing answers for it.
type domain struct {
	api.Domain
	records []api.DomainRecord
}

var domainName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$`)

// ListDomains lists them by ID.
func (w Domains) ListDomains() ([]api.Domain, error) {
	return each(sorted(w.assets.domains), func(d domain) api.Domain { return d.Domain }), nil
}

// GetDomain finds one.
func (w Domains) GetDomain(domainID int) (api.Domain, error) {
	d, err := lookup(w.assets.domains, domainID)
	return d.Domain, err
}

// CreateDomain makes one without records.
func (w Domains) CreateDomain(b *api.DomainCreate) (api.Domain, error) {
	var bad reasons
	if !domainName.MatchString(strings.ToLower(b.Domain)) {
		bad.invalid("domain")
	}
	for _, other := range w.assets.domains {
		if other.Domain.Domain == b.Domain {
			bad.add("domain", "DNS zone already exists.")
		}
	}
	if b.Type == "master" && !strings.Contains(deref(b.SoaEmail), "@") {
		bad.add("soa_email", "soa_email is required for master domains")
	}
	checkTags(&bad, deref(b.Tags))
	if err := bad.err(); err != nil {
		return api.Domain{}, err
	}
	made := api.Domain{
		ID: w.sideID(&w.seq.domain), Domain: b.Domain, Type: api.DomainType(b.Type), Status: "active", SoaEmail: deref(b.SoaEmail),
		Description: deref(b.Description), TTLSec: deref(b.TTLSec), MasterIps: nonNil(deref(b.MasterIps)), AxfrIps: nonNil(deref(b.AxfrIps)),
		Group: new(""), Tags: union(deref(b.Tags)), Created: w.stamp(), Updated: w.stamp(),
	}
	w.assets.domains[made.ID] = domain{Domain: made}
	w.noted(AssetCreated, "domain_create", made)
	return made, nil
}

func (w Domains) noted(action, event string, d api.Domain) {
	w.note(action, fmt.Sprintf("domain %d", d.ID), 0)
	w.happened(w.User, event, onObject("domain", d.ID, d.Domain, "/v4/domains/%d"), nil)
}

// DeleteDomain removes one with its records.
func (w Domains) DeleteDomain(domainID int) error {
	d, err := lookup(w.assets.domains, domainID)
	if err != nil {
		return err
	}
	delete(w.assets.domains, domainID)
	w.noted(AssetDeleted, "domain_delete", d.Domain)
	return nil
}

// ListDomainRecords lists the records of a domain.
func (w Domains) ListDomainRecords(domainID int) ([]api.DomainRecord, error) {
	d, err := lookup(w.assets.domains, domainID)
	return d.records, err
}

// record finds a record by its place in its domain.
func (w Domains) record(domainID, id int) (domain, int, error) {
	d, err := lookup(w.assets.domains, domainID)
	at := slices.IndexFunc(d.records, func(r api.DomainRecord) bool { return r.ID == id })
	if err != nil || at < 0 {
		return d, -1, NotFound()
	}
	return d, at, nil
}

// GetDomainRecord finds one.
func (w Domains) GetDomainRecord(domainID, domainRecordID int) (api.DomainRecord, error) {
	d, at, err := w.record(domainID, domainRecordID)
	if err != nil {
		return api.DomainRecord{}, err
	}
	return d.records[at], nil
}

// CreateDomainRecord adds a record.
func (w Domains) CreateDomainRecord(domainID int, b *api.DomainRecordCreate) (api.DomainRecord, error) {
	d, err := lookup(w.assets.domains, domainID)
	if err != nil {
		return api.DomainRecord{}, err
	}
	made := overlaid[api.DomainRecord](b)
	made.ID, made.Created, made.Updated = w.sideID(&w.seq.record), w.stamp(), w.stamp()
	if err := checkRecord(made); err != nil {
		return api.DomainRecord{}, err
	}
	d.records = append(slices.Clone(d.records), made)
	w.assets.domains[domainID] = d
	w.noted(AssetChanged, "domain_record_create", d.Domain)
	return made, nil
}

// checkRecord refuses targets that do not fit the kind.
func checkRecord(r api.DomainRecord) error {
	address := network(r.Target).Addr()
	if r.Type == "A" && !address.Is4() || r.Type == "AAAA" && !address.Is6() || cmp.Or(r.Target, "") == "" {
		return Refuse("target", "target is not valid for a record of type %s", r.Type)
	}
	return nil
}

// UpdateDomainRecord changes a record.
func (w Domains) UpdateDomainRecord(domainID, domainRecordID int, b *api.DomainRecordUpdate) (api.DomainRecord, error) {
	d, at, err := w.record(domainID, domainRecordID)
	if err != nil {
		return api.DomainRecord{}, err
	}
	changed := overlaid[api.DomainRecord](d.records[at], b)
	changed.Updated = w.stamp()
	if err := checkRecord(changed); err != nil {
		return api.DomainRecord{}, err
	}
	d.records = slices.Clone(d.records)
	d.records[at] = changed
	w.assets.domains[domainID] = d
	w.noted(AssetChanged, "domain_record_update", d.Domain)
	return changed, nil
}

// DeleteDomainRecord removes a record.
func (w Domains) DeleteDomainRecord(domainID, domainRecordID int) error {
	d, at, err := w.record(domainID, domainRecordID)
	if err != nil {
		return err
	}
	d.records = slices.Delete(slices.Clone(d.records), at, at+1)
	w.assets.domains[domainID] = d
	w.noted(AssetChanged, "domain_record_delete", d.Domain)
	return nil
}
