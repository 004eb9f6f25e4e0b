package main

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// renew returns the catalog with the lists of the date. Entries keep their order in the old catalog; new entries follow.
func renew(old *catalog.Catalog, listed lists, date string) (*catalog.Catalog, error) {
	if err := whole("plans", len(old.Types), len(listed.types)); err != nil {
		return nil, err
	}
	if err := whole("regions", len(old.Regions), len(listed.regions)); err != nil {
		return nil, err
	}
	renewed := *old
	renewed.Date, renewed.Prices, renewed.Missing = date, date, nil
	renewed.Types = ordered(old.Types, listed.types, func(t api.LinodeType) string { return t.ID })
	renewed.Regions = ordered(old.Regions, listed.regions, func(r api.Region) string { return r.ID })
	for i := range renewed.Regions {
		renewed.Regions[i].Resolvers = old.Regions[0].Resolvers
	}
	renewed.NotInLKE = slices.DeleteFunc(slices.Clone(old.NotInLKE), func(plan string) bool {
		_, there := renewed.Type(plan)
		return !there
	})
	renewed.Offered = map[string][]string{}
	for _, row := range listed.availability {
		if _, there := renewed.Type(row.Plan); !there {
			continue
		}
		if renewed.Offered[row.Plan] == nil {
			renewed.Offered[row.Plan] = []string{}
		}
		if row.Available {
			renewed.Offered[row.Plan] = append(renewed.Offered[row.Plan], row.Region)
		}
	}
	position := map[string]int{}
	for i, r := range renewed.Regions {
		position[r.ID] = i
	}
	for _, regions := range renewed.Offered {
		slices.SortFunc(regions, func(a, b string) int { return position[a] - position[b] })
	}
	return &renewed, nil
}

// whole refuses a list with less than four fifths of the file's entries. Example: if the file has 100 plans, 80 plans are accepted, and 79
// are refused.
func whole(what string, before, now int) error {
	if now*5 < before*4 {
		return fmt.Errorf("the API lists %d %s, and the file has %d: the API's list is incomplete; if it is correct, edit the file by hand",
			now, what, before)
	}
	return nil
}

func ordered[T any](old, listed []T, id func(T) string) []T {
	position := map[string]int{}
	for i, one := range old {
		position[id(one)] = i + 1
	}
	at := func(one T) int {
		if p := position[id(one)]; p > 0 {
			return p
		}
		return len(old) + 1
	}
	out := slices.Clone(listed)
	slices.SortStableFunc(out, func(a, b T) int { return at(a) - at(b) })
	return out
}

// changes describes each change in a line, for the reader of the proposed change.
func changes(old, renewed *catalog.Catalog) (lines []string) {
	lines = append(lines, compared("plan", old.Types, renewed.Types, func(t api.LinodeType) string { return t.ID })...)
	lines = append(lines, compared("region", old.Regions, renewed.Regions, func(r api.Region) string { return r.ID })...)
	for _, plan := range renewed.Types {
		before, restricted := old.Offered[plan.ID]
		now, restrictedNow := renewed.Offered[plan.ID]
		if restricted != restrictedNow || !slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(now))) {
			lines = append(lines, fmt.Sprintf("plan %s: offered in %s, was %s", plan.ID, where(now, restrictedNow), where(before, restricted)))
		}
	}
	return lines
}

func where(regions []string, restricted bool) string {
	if !restricted {
		return "all regions"
	}
	return fmt.Sprintf("%d regions %v", len(regions), regions)
}

// compared names each entry that is new, gone or changed, with the fields that differ.
func compared[T any](kind string, old, now []T, id func(T) string) (lines []string) {
	find := func(all []T, name string) (one T, ok bool) {
		i := slices.IndexFunc(all, func(o T) bool { return id(o) == name })
		if i < 0 {
			return one, false
		}
		return all[i], true
	}
	for _, one := range now {
		before, there := find(old, id(one))
		if !there {
			lines = append(lines, fmt.Sprintf("%s %s: new", kind, id(one)))
			continue
		}
		for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
			a, b := reflect.ValueOf(before).FieldByIndex(field.Index), reflect.ValueOf(one).FieldByIndex(field.Index)
			if !reflect.DeepEqual(a.Interface(), b.Interface()) {
				lines = append(lines, fmt.Sprintf("%s %s: %s %v, was %v", kind, id(one), field.Name, reflect.Indirect(b), reflect.Indirect(a)))
			}
		}
	}
	for _, one := range old {
		if _, there := find(now, id(one)); !there {
			lines = append(lines, fmt.Sprintf("%s %s: not listed any more", kind, id(one)))
		}
	}
	return lines
}
