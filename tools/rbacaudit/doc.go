// Package rbacaudit compares the rights of a ServiceAccount with its requests: the rights
// come from the roles that are bound to it, the requests from the API server's audit log.
// It finds rights that are missing (a request was refused) and rights that are spare
// (no allowed request needed them).
//
// The end-to-end tests call it over the logs of all their clusters: a chart must
// grant the rights that the program uses, no fewer and no more.
//
// A right is one verb on one resource, so a rule of three verbs on two resources is
// six rights. A subresource is written as in a rule, pods/eviction. Rights on
// addresses that are no resources, such as /version, are left out: every account has
// them. Imply adds a right that no request shows, because an admission plugin checks
// it with the authorizer while it handles another request.
//
// The log must be complete, at level Metadata or above, with the stage
// ResponseStarted, which shows a watch before it ends. An incomplete last line is left
// out. A Usage is not for concurrent use.
//
// Granted reads Roles, ClusterRoles and their bindings. If an object cannot be read, it
// returns the error. If an entry of the log is no audit event, Read returns an error with
// the number of the entry.
package rbacaudit
