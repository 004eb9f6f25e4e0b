// Package fate has the part that small worlds of different engines share, for the searches of
// package explore: the requests between a core and its platform, all possible fates of a
// request, and the states that readings may show.
//
// A world has [Requests] and [Views]. It begins requests, takes its moves from them, and
// passes back each move that concerns a request. The world itself defines the effect of a
// write, the result of a read, and the reaction of the core to an answer: see [World]. The
// world's own moves, such as moves of claimants, have kinds from [Own] on.
//
// # The fates of a request
//
//	read     shows any of the versions within its bound
//	write    takes effect, and is answered then
//	faults   fails without effect; loses its answer after its effect; takes effect later or
//	         never, after its error; a read of one object is answered 404 wrongly; is slow, so
//	         that time passes without its answer, to its timeout
//
// Time passes only while every request under way is slow. All other requests end before,
// in every order. A fault that is added to this package is added to the worlds of all
// engines.
//
// # Imports
//
// The package depends on no engine or platform: of an action it uses only the fields of
// [Request]. It imports package claims, for kinds of errors and effects.
//
// # Errors, time and other processes
//
//	a read fails                   claims.KindUnavailable, EffectNone; a wrong 404 is KindNotFound
//	a write fails                  KindUnavailable, EffectNone
//	a write loses its answer       KindUnavailable, EffectUnknown. If it has had no effect yet, it may take effect
//	                               until Bound.LateEffect after its error, or never
//	the process dies (Crash)       at any step, once in a life; its writes may take effect as in the row above
//	the process ends (Clean)       once, only while no write is under way or may take effect later
//
// A world has at most Bound.Faults faults, of the kinds in Bound.Only.
package fate
