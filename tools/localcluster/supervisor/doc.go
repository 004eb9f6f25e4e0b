// Package supervisor keeps a local cluster running in the background, between
// `localcluster up` and `localcluster down`.
//
// It is called by cmd/localcluster. Up starts a process of the same program in a
// session of its own, which calls Run; Run starts the cluster and serves until it
// has to stop (SIGTERM) or until a part of the control plane dies. The operator
// is started again when it ends, as a kubelet would do it.
//
// One state folder has at most one supervisor: it holds the folder's lock for as
// long as it lives, so that a process that can take the lock has proof that nothing runs,
// and the process number in it is never an old one.
//
// Errors are one line with cause and log.
package supervisor
