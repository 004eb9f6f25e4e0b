// Package process runs a child process that must not outlive its parent.
//
// It is called by the parts of the local cluster that start programs, such as the
// control plane and the operator. It does not depend on them.
//
// Guarantees: a child is the leader of a process group of its own, so that a
// Ctrl-C in the terminal reaches the parent alone, which then stops its children
// in order; Stop and Kill end the whole group; on Linux the kernel kills the
// child when the parent dies, even from SIGKILL. A child gets exactly the environment
// of its Spec and no variable of the parent. Its output is appended to its log file,
// so that a second start loses nothing.
//
// Not guaranteed: on systems other than Linux a child survives a parent that was
// killed by SIGKILL. Processes that a child starts outside of its process group are
// not ended.
//
// A Process is safe for concurrent use.
//
// Start returns ErrMissing if the program was not built. Failure has the last line of the
// log. Stop waits for the grace and then kills the group.
package process
