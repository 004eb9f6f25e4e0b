// Package launches judges failed launches, and remembers their results.
//
// Judge turns the error of a launch into a Verdict: the outcome for the metric, the condition of the NodeClaim, the event on the
// NodePool, and what must not be launched for a while. It is a pure function. Memory keeps verdicts, and returns why a launch is not
// tried now:
//
//	a plan rests                     for minutes: the region, the account or a setting has no room for it, for all NodePools
//	a NodePool pauses                its launches were given up, or nodes of one of its plans never joined; the pause grows in a row
//	a NodePool or class is refused   the API refuses the request itself, until the NodePool or its LinodeNodeClass changes
//	a static NodePool is held        its last NodeClaim got no node
//
// A plan rests for three minutes without capacity or at the account's limit (Config.PlanRest), for 15 if LKE accepted a purchase and made
// no Linode, for 30 if LKE does not take the plan, and for one at a ceiling of the settings. A refusal is forgotten after five minutes
// (RefusalLasts), a static NodePool is held for one (HeldFor). The first launch in a row that is given up delays nothing, each further one
// by a minute. Nodes that never join delay their plan by 0, 1, 5 and then 15 minutes, until a node joins.
//
// Each of these ends by itself, because its cause may end outside of the cluster. Example: the account has no room for g6-standard-4 at
// 12:00, so this plan and all plans of at least its size rest until 12:03, and smaller plans are tried. Export returns the first three
// for a process that starts later (package stored keeps them).
//
// Packages cloudprovider and catalog use it, concurrently. It imports nothing of Karpenter's and makes no request.
//
// A node that was too small for its pods counts for six hours. Failures in a row are forgotten an hour after the last pause, a refusal
// because of a limit after 15 minutes, the attempts of a NodeClaim after an hour.
package launches
