// Package account has the types that describe the simulated account: specifications of objects to make, copies of its
// objects, events of its Linodes, entries of its audit log, and the choices where the platform's behaviour is not
// known. Package linodesim and its model (internal/world) share these types, and users of package linodesim see them.
// The package only holds data.
//
// Values are copies: changing one changes nothing in the account. The zero Behaviour is the default of each choice. Units are the API's.
package account
