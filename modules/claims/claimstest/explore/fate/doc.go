// Package fate has what small worlds of different engines share, for the searches of
// package explore: the requests between a core and its platform, all that may become of
// each, and the states that readings may show.
//
// A world has [Requests] and [Views]. It begins requests, takes the moves from them, and
// hands back the moves that concern a request; what a write does, what a read shows, and what
// the core makes of an answer is the world's own: see [World]. Moves of its own, such as
// moves of claimants, have kinds from [Own] on.
//
// # What may become of a request
//
//	read     shows any of the versions within its bound
//	write    takes effect, and is answered then
//	faults   fails without effect; loses its answer after its effect; takes effect later or
//	         never, after its error; a read of one object is answered 404 wrongly; is slow, so
//	         that time passes without its answer, to its timeout
//
// All other requests end before time passes, in every order. A fault that one engine's
// worlds get here, the worlds of all engines have.
//
// # What it may know
//
// It knows nothing of engines or platforms: of an action only what [Request] says. It
// imports package claims, for kinds of errors and effects.
package fate
