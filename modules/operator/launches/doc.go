// Package launches judges failed launches, and remembers their results.
//
// Judge turns the error of a launch into a Verdict: the outcome for the metric, the condition of the NodeClaim, the event on the
// NodePool, and a record of the launches that are not tried for a while. It is a pure function. Memory keeps these records, and returns
// why a launch is not tried now:
//
//	a plan rests                     for minutes: the region, the account or a setting has no room for it, for all NodePools
//	a NodePool pauses                its launches were given up, or nodes of one of its plans never joined; the pause grows in a row
//	a NodePool or class is refused   the API refuses the request itself, until the NodePool or its LinodeNodeClass changes
//	a static NodePool is held        its last NodeClaim got no node
//
// A plan rests for three minutes (Config.PlanRest) without capacity or at the account's limit. It rests for 15 minutes if LKE accepted a
// purchase and made no Linode, for 30 minutes if LKE does not take the plan, and for one minute at a ceiling of the settings. A refusal
// is forgotten after five minutes (RefusalLasts), and a static NodePool is held for one minute (HeldFor). The first launch in a row that
// is given up delays nothing; each further one delays the NodePool by a minute. Nodes that never join delay their plan by 0, 1, 5 and
// then 15 minutes, until a node joins.
//
// Each record ends by itself, because its cause may end outside of the cluster. Example: the account has no room for g6-standard-4 at
// 12:00, so this plan and all plans of at least its size rest until 12:03, and smaller plans are tried. Export returns the records of the
// first three kinds for a later process; package stored keeps them.
//
// Packages cloudprovider and catalog use it, concurrently. It imports nothing of Karpenter's and makes no request.
//
// A node that was too small for its pods counts for six hours. Failures in a row are forgotten an hour after the last pause, a refusal
// because of a limit after 15 minutes, the attempts of a NodeClaim after an hour.
package launches
