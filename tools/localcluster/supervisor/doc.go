// Package supervisor keeps a local cluster running in the background, between
// `localcluster up` and `localcluster down`.
//
// It is called by cmd/localcluster. Up starts a process of the same program in a
// new session, which calls Run. Run starts the cluster, and serves until it gets
// SIGTERM or a part of the control plane dies. If the operator ends, Run starts it
// again, as a kubelet would do.
//
// One state folder has at most one supervisor, which holds the folder's lock while it
// lives. So a process that gets the lock has proof that no supervisor runs, and the
// process number in a held lock is never outdated.
//
// Errors are one line with cause and log.
//
// Up returns when the cluster is ready. Read and Down return ErrNotRunning if no cluster
// runs. The first restart of the operator waits a second; the pauses double up to 30
// seconds. Down kills a supervisor that does not end in 30 seconds; on Linux its children
// die with it.
package supervisor
