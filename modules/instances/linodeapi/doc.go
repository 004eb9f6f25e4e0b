// Package linodeapi implements the platform of package instances over the API client of module linode. It translates requests, answers
// and refusals, and decides nothing.
//
// The whole program should use one client, because the client applies the rate limits of its token. The error of a refused request has
// the field of instances.Spec at fault if the API names one; for the instance type the field is claims.FieldInstanceType. The kinds of
// refusals:
//
//	the label is taken                      claims.KindConflict, with instances.ErrLabelTaken
//	capacity, the account's size            kinds of their own, by the words of the API (failure.go)
//	a placement group is full               claims.KindQuotaExceeded
//	a placement group's rule                claims.KindInsufficientCapacity
//	a deletion that the API refuses         claims.KindConflict
//	404 of a request about one instance     claims.KindNotFound
//	404 of a creation or of the whole list  claims.KindUnavailable, because it proves nothing about an instance
//
// A boot of an instance that runs already is a success. If a creation has neither keys nor users, the backend makes a random root
// password, which it does not keep, because the API requires one of the three. Lists return only instances with the exact tag or label,
// whatever the API's filter matched. The backend is safe for concurrent use and remembers nothing.
package linodeapi
