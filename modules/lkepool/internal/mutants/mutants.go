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
	{"one 404 proves that an object is gone", "merge.go", "return removed || c.settled(began, a.proof)", "return true || removed || c.settled(began, a.proof)", nil},
	{"a list without a claim frees the instance", "merge.go", "\tcase who.none():\n\tdefault:", "\tcase who.none():\n\t\t*h = h.freed(c.now)\n\tdefault:", []change{
		{"\tcase h.state == held && !h.who.is(who):", "\tcase h.state == held && !h.who.is(who) && !who.none():"},
	}},
	{"an own count does not outrank older readings", "merge.go",
		"if !c.settled(d.began, latest(p.writes.grown, p.writes.shrunk)) || !c.settled(d.began, p.writes.unsure) {",
		"if false && !c.settled(d.began, latest(p.writes.grown, p.writes.shrunk)) {", nil},
	{"counts are raised without a look", "buy.go", "\tcase c.seenLately(p.look):\n", "\tcase true:\n", nil},
	{"instances are claimed without a look", "decide.go", "case n.hold.state == reserved && n.arrived && n.hold.failed == 0, c.seenLately(n.look):", "case true:", nil},
	{"removals go without a look at the pool", "remove.go", "\tcase !c.lookedForRemoval(p, n.removal.accepted, \"look before removing\"):\n\t\treturn c.pastTrouble(p.look, since)\n", "", nil},
	{"a claim's tag that was stripped is not written again", "decide.go", "return n.hold.state == held && n.hold.stripped &&", "return false && n.hold.state == held && n.hold.stripped &&", nil},
	{"the caller's own records are not asked", "decide.go", "if c.cfg.Holder == nil {\n\t\treturn\n\t}", "if true || c.cfg.Holder == nil {\n\t\treturn\n\t}", nil},
	{"a new process trusts its first reading", "core.go", "startedAt: now, keys", "startedAt: now.Add(-time.Hour), keys", nil},
	{"a removal without effect is not sent again", "remove.go",
		"!n.removal.accepted.IsZero() && c.now.Sub(n.removal.accepted) < removalResend:", "!n.removal.accepted.IsZero():", nil},
	{"a pool whose deletion had no effect is forgotten", "merge.go", "if p.writes.dropped.IsZero() || began.Sub(p.writes.dropped) < removalResend {", "if true {", nil},
	{"an instance that cannot be tagged is never put aside", "decide.go", "n.hold.failed >= markAttempts && (n.hold.state != unsure", "n.hold.failed >= 1000*markAttempts && (n.hold.state != unsure", nil},
	{"nodes are bought although marks are refused", "buy.go", "if c.marks.err != nil || c.marks.general() {", "if false {", nil},
	{"no limit for all keys together", "ceiling.go", "wanted = min(wanted, c.cfg.MaxNodes-total)", "wanted = min(wanted, c.cfg.MaxNodes+0*total)", nil},
	{"no limit on the price of all keys together", "ceiling.go", "c.cfg.MaxHourlyPrice - total + rounding", "c.cfg.MaxHourlyPrice + 0*total + rounding", nil},
	{"purchases under way do not count for the ceilings", "ceiling.go", "owned := maps.Clone(c.buying)", "owned := map[string]int{}", nil},
	{"the deficit has no pending term", "buy.go", "plan.Deficit(len(d.waiting), len(d.free)+d.soon, d.pending)", "plan.Deficit(len(d.waiting), len(d.free)+d.soon, 0*d.pending)", nil},
	{"instances that are tried again soon do not count", "buy.go", "plan.Deficit(len(d.waiting), len(d.free)+d.soon, d.pending)", "plan.Deficit(len(d.waiting), len(d.free), d.pending)", nil},
	{"lost creations are repeated at once", "buy.go", "return k.hold.IsZero() || c.ready(k.hold) &&", "return true || k.hold.IsZero() || c.ready(k.hold) &&", nil},
	{"room below the account's limit is not used", "buy.go", "case KindOf(d.err) == KindQuotaExceeded && add > 1:", "case false:", nil},
	{"lowered counts are raised for ever", "buy.go", "p.lowered.times >= lowerLimit", "p.lowered.times >= 1000*lowerLimit", nil},
	{"a purchase is made while it is unclear what there is", "buy.go", "missing == 0 || d.unclear ||", "missing == 0 ||", nil},
	{"a lost write to a pool is taken for none", "buy.go", "if p != nil && effectOf(d.err) != EffectNone {", "if false {", nil},
	{"a pool is created again while its creation is under way", "buy.go", "d.unclear || d.state.creating > 0 ||", "d.unclear ||", nil},
	{"the slots of lost Linodes count as on their way", "decide.go", "p.Count-len(members)-p.lost()", "p.Count-len(members)-0*p.lost()", nil},
	{"claims are not given back", "decide.go", "if len(claim.tokens) == 0 || c.giveBack(claim) {", "if len(claim.tokens) == 0 || c.world.holder(claim.id) == nil && c.giveBack(claim) {", nil},
	{"an instance known by its ID alone has no claimant", "world.go", "return !n.tagged.IsZero() || n.arrived", "return true || !n.tagged.IsZero() || n.arrived", nil},
	{"claims of another UID are the claimant's", "world.go", "return a.value == b.value && (a.uid == b.uid || a.uid == \"\" || b.uid == \"\")", "return a.value == b.value", nil},
	{"edited pools fit", "pool.go", "return !p.Autoscaled && p.InstanceType == key.InstanceType &&", "return true || !p.Autoscaled && p.InstanceType == key.InstanceType &&", nil},
	{"foreign pools count as ours", "pool.go", "return slices.Contains(p.Tags, ManagedTag) && p.keyHash() != \"\"", "return true || slices.Contains(p.Tags, ManagedTag)", nil},
	{"any caller may release an instance", "requests.go", "case by != (Claimant{}) && n.hold.state != free && !n.hold.who.is(by.id()):", "case false:", nil},
	{"tags replace claims", "requests.go", "if !claimIn(tags).is(n.hold.who) {", "if tags = slices.DeleteFunc(tags, claimTag); false {", nil},
	{"the last node leaves an empty pool", "remove.go", "\tcase remaining > 1:\n", "\tcase remaining > 0:\n", nil},
	{"claims are collected although their claimant exists", "remove.go", "\t\tif !exists(n.hold.who) {\n", "\t\tif true || !exists(n.hold.who) {\n", nil},
	{"orphans are collected at once", "remove.go", "return c.now.Sub(since) > c.cfg.OrphanTTL", "return c.now.Sub(since) >= 0", nil},
	{"free nodes are collected under claimants that wait", "remove.go", "return before >= wanted\n", "return before >= 0*wanted\n", nil},
	{"overdue slots stay", "remove.go", "if s.InstanceID == 0 && !s.vacant.IsZero()", "if false && !s.vacant.IsZero()", nil},
	{"a removal is awaited no longer than the pool's count", "remove.go", "\tcase p.writes.removing > 0:\n\t\treturn false, nil\n", "", nil},
	{"not found without a 404", "lke/failure.go", "e := &lkepool.Error{Kind: lkepool.KindUnavailable,", "e := &lkepool.Error{Kind: lkepool.KindNotFound,", nil},
	{"a failure of the API counts as a refusal", "lke/failure.go", "\te.RetryAfter = cause.RetryAfter\n", "\te.RetryAfter, e.Effect = cause.RetryAfter, lkepool.EffectNone\n", nil},
	{"nodes are removed without leave", "vacate.go", "if agreed[i], errs[i] = may(ctx, node); errs[i] != nil {", "if agreed[i] = true; errs[i] != nil {", nil},
}
