package main

// mutant is one safeguard less.
type mutant struct {
	name, file, old, new string
	more                 []change
}

// change is a further change in the mutant's file.
type change struct{ old, new string }

// mutants by the rule of belief that they break, then by what the rest protects.
var mutants = []mutant{
	{"one 404 proves that an object is gone", "internal/engine/merge.go", "return removed || c.settled(began, a.proof)", "return true || removed || c.settled(began, a.proof)", nil},
	{"a list without a claim frees the instance", "internal/engine/merge_nodes.go", "\tcase who.none():\n\tdefault:", "\tcase who.none():\n\t\t*h = h.freed(c.now)\n\tdefault:", []change{
		{"\tcase h.state == held && !h.who.is(who):", "\tcase h.state == held && !h.who.is(who) && !who.none():"},
	}},
	{"an own count does not outrank older readings", "internal/engine/merge_pools.go",
		"if !c.settled(d.Began, latest(p.writes.grown, p.writes.shrunk)) || !c.settled(d.Began, p.writes.unsure) {",
		"if false && !c.settled(d.Began, latest(p.writes.grown, p.writes.shrunk)) {", nil},
	{"counts are raised without a look", "internal/engine/buy.go",
		"\tcase c.seenLately(p.look) && !p.look.began.Before(latest(p.writes.grown, p.writes.shrunk)):\n", "\tcase true:\n", nil},
	{"instances are claimed without a look", "internal/engine/claim.go", "case n.hold.state == reserved && n.arrived && n.hold.failed == 0, c.seenLately(n.look):", "case true:", nil},
	{"removals go without a look at the pool", "internal/engine/remove.go", "\tcase !c.lookedForRemoval(p, n.removal.accepted, \"look before removing\"):\n\t\treturn c.pastTrouble(p.look, since)\n", "", nil},
	{"a claim's tag that was stripped is not written again", "internal/engine/claim.go", "return n.hold.state == held && n.hold.stripped &&", "return false && n.hold.state == held && n.hold.stripped &&", nil},
	{"the caller's own records are not asked", "internal/engine/claim.go", "if c.cfg.Holder == nil {\n\t\treturn\n\t}", "if true || c.cfg.Holder == nil {\n\t\treturn\n\t}", nil},
	{"a new process trusts its first reading", "internal/engine/core.go", "startedAt: now, keys", "startedAt: now.Add(-time.Hour), keys", nil},
	{"a removal without effect is not sent again", "internal/engine/remove.go",
		"!n.removal.accepted.IsZero() && c.now.Sub(n.removal.accepted) < removalResend:", "!n.removal.accepted.IsZero():", nil},
	{"a pool whose deletion had no effect is forgotten", "internal/engine/merge_pools.go", "if p.writes.dropped.IsZero() || began.Sub(p.writes.dropped) < removalResend {", "if true {", nil},
	{"an instance that cannot be tagged is never put aside", "internal/engine/claim.go", "n.hold.failed >= markAttempts && (n.hold.state != unsure", "n.hold.failed >= 1000*markAttempts && (n.hold.state != unsure", nil},
	{"nodes are bought although marks are refused", "internal/engine/buy.go", "unserved := d.unserved()\n\tif c.marks.err != nil || c.marks.general() {", "unserved := d.unserved()\n\tif false {", nil},
	{"no limit for all keys together", "internal/engine/ceiling.go", "wanted = min(wanted, c.cfg.MaxNodes-total)", "wanted = min(wanted, c.cfg.MaxNodes+0*total)", nil},
	{"no limit on the price of all keys together", "internal/engine/ceiling.go", "c.cfg.MaxHourlyPrice - total + rounding", "c.cfg.MaxHourlyPrice + 0*total + rounding", nil},
	{"purchases under way do not count for the ceilings", "internal/engine/ceiling.go", "owned := maps.Clone(c.buying)", "owned := map[string]int{}", nil},
	{"the deficit has no pending term", "internal/engine/buy.go", "len(d.free)+d.soon+d.pending)", "len(d.free)+d.soon+0*d.pending)", nil},
	{"instances that are tried again soon do not count", "internal/engine/buy.go", "len(d.free)+d.soon+d.pending)", "len(d.free)+0*d.soon+d.pending)", nil},
	{"lost creations are repeated at once", "internal/engine/buy.go", "return k.hold.IsZero() || c.ready(k.hold) &&", "return true || k.hold.IsZero() || c.ready(k.hold) &&", nil},
	{"room below the account's limit is not used", "internal/engine/buy.go", "case KindOf(d.Err) == KindQuotaExceeded && add > 1:", "case false:", nil},
	{"lowered counts are raised for ever", "internal/engine/buy.go", "p.lowered.times >= lowerLimit", "p.lowered.times >= 1000*lowerLimit", nil},
	{"a purchase is made while it is unclear what there is", "internal/engine/buy.go", "missing == 0 || d.unclear ||", "missing == 0 ||", nil},
	{"a lost write to a pool is taken for none", "internal/engine/buy.go", "if p != nil && effectOf(d.Err) != EffectNone {", "if false {", nil},
	{"a pool is created again while its creation is under way", "internal/engine/buy.go", "d.unread >= asideLimit || d.state.creating > 0 ||", "d.unread >= asideLimit ||", nil},
	{"the slots of lost Linodes count as on their way", "internal/engine/decide.go", "p.Count-len(members)-p.lost()", "p.Count-len(members)-0*p.lost()", nil},
	{"claims are not given back", "internal/engine/decide.go", "if len(claim.tokens) == 0 || c.giveBack(claim) {", "if len(claim.tokens) == 0 || c.world.holder(claim.id) == nil && c.giveBack(claim) {", nil},
	{"an instance known by its ID alone has no claimant", "internal/engine/lookup.go", "return !n.tagged.IsZero() || n.arrived", "return true || !n.tagged.IsZero() || n.arrived", nil},
	{"claims of another UID are the claimant's", "internal/engine/world.go", "return a.value == b.value && (a.uid == b.uid || a.uid == \"\" || b.uid == \"\")", "return a.value == b.value", nil},
	{"edited pools fit", "internal/engine/pool.go", "return !p.Autoscaled && p.InstanceType == key.InstanceType &&", "return true || !p.Autoscaled && p.InstanceType == key.InstanceType &&", nil},
	{"foreign pools count as ours", "internal/engine/pool.go", "return slices.Contains(p.Tags, ManagedTag) && p.keyHash() != \"\"", "return true || slices.Contains(p.Tags, ManagedTag)", nil},
	{"any caller may release an instance", "internal/engine/answers.go", "case by != (Claimant{}) && n.hold.state != free && !n.hold.who.is(by.id()):", "case false:", nil},
	{"tags replace claims", "internal/engine/answers.go", "if !claimIn(tags).is(n.hold.who) {", "if tags = slices.DeleteFunc(tags, claimTag); false {", nil},
	{"the last node leaves an empty pool", "internal/engine/remove.go", "\tcase remaining > 1:\n", "\tcase remaining > 0:\n", nil},
	{"claims are collected although their claimant exists", "internal/engine/sweep.go", "\t\tif !exists(n.hold.who) {\n", "\t\tif true || !exists(n.hold.who) {\n", nil},
	{"orphans are collected at once", "internal/engine/sweep.go", "return c.now.Sub(since) > c.cfg.OrphanTTL", "return c.now.Sub(since) >= 0", nil},
	{"free nodes are collected under claimants that wait", "internal/engine/sweep.go", "return before >= wanted\n", "return before >= 0*wanted\n", nil},
	{"overdue slots stay", "internal/engine/sweep.go", "if s.InstanceID == 0 && !s.vacant.IsZero()", "if false && !s.vacant.IsZero()", nil},
	{"a removal is awaited no longer than the pool's count", "internal/engine/remove.go", "\tcase p.writes.removing > 0:\n\t\treturn false, nil\n", "", nil},
	{"not found without a 404", "lke/failure.go", "e := &lkepool.Error{Kind: lkepool.KindUnavailable,", "e := &lkepool.Error{Kind: lkepool.KindNotFound,", nil},
	{"a failure of the API counts as a refusal", "lke/failure.go", "\te.RetryAfter = cause.RetryAfter\n", "\te.RetryAfter, e.Effect = cause.RetryAfter, lkepool.EffectNone\n", nil},
	{"pools that a list predates are read for it", "internal/engine/merge_pools.go", "d.Began.After(p.last) && listed(d.Began, p.made) &&", "d.Began.After(p.last) &&", nil},
	{"pools that instances name are not read", "internal/engine/decide.go", "all = c.located(n.home) && all", "continue", nil},
	{"nodes are removed without leave", "vacate.go", "if agreed[i], errs[i] = may(ctx, node); errs[i] != nil {", "if agreed[i] = true; errs[i] != nil {", nil},
}
