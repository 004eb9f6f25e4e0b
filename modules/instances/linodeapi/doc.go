// Package linodeapi implements the platform of package instances over the API client of module linode. It translates requests, answers
// and refusals, and decides nothing.
//
// The whole program should use one client, because the client applies the rate limits of its token. The error of a refused request has
// the field of instances.Spec at fault if the API names one; for the instance type the field is claims.FieldInstanceType. The kinds of
// errors:
//
//	the label is taken                        claims.KindConflict, with instances.ErrLabelTaken
//	no capacity for the instance type         claims.KindInsufficientCapacity, by the words of the API (package refusal)
//	a limit of the account                    claims.KindQuotaExceeded, by the words of the API (package refusal)
//	a placement group is full                 claims.KindQuotaExceeded
//	a placement group's rule                  claims.KindInsufficientCapacity
//	400 of a deletion (locked, being cloned)  claims.KindConflict: a person has to act
//	404 about one instance or its disks       claims.KindNotFound
//	404 of a creation                         claims.KindUnavailable: it proves nothing about an instance
//	404 of a list of instances                claims.KindUnavailable: it proves nothing about an instance
//	401, 403                                  claims.KindForbidden
//	429, or a write that was not sent in time claims.KindRateLimited, claims.EffectNone
//	no answer, 5xx                            claims.KindUnavailable; Effect shows whether it may have had its effect
//	any other refusal                         claims.KindInvalid
//
// A caller bounds the time at which a write is sent with effects.WithSendBefore on the context; effects.Runner sets it from
// Request.NotAfter. For each write the backend passes this time to the client, which may have to wait for a rate limit, and sends the
// write by then or not at all. Without this time in the context, a write may wait as long as the context lasts.
//
// A boot of an instance that runs already is a success. The API requires keys, users or a root password for a creation. If a creation has
// neither keys nor users, the backend sends a random root password, and does not keep it. Lists return only instances with the exact tag
// or label, whatever the API's filter matched. The backend is safe for concurrent use and remembers nothing.
package linodeapi
