// Package account has the types in which the simulated account is described: specifications of what to make, copies of its objects,
// events of its Linodes, entries of its audit log, and the choices where the platform's behaviour is not known. Package linodesim, whose
// users see them, and its model share them; nothing here acts.
//
// Values are copies: changing one changes nothing in the account. The zero Behaviour is the default of each choice. Units are the API's.
package account
