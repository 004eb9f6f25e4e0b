// Package workload works out what a kubelet would run for a container of a pod:
// its arguments and its whole environment.
//
// It is called by package localcluster, which runs the operator as a local
// process with exactly what the installed Deployment gives it. It reads the
// ConfigMaps and Secrets of the pod's namespace that the container names, and nothing
// else.
//
// Understood: env with values, secretKeyRef, configMapKeyRef, fieldRef and
// resourceFieldRef, envFrom with prefixes, optional references, and $(NAME) in
// values, command and args. Variables that are set later win, as in a kubelet.
// Not understood, and an error when used: fileKeyRef and fields outside of the
// downward API. Not done: the variables of Services
// (KUBERNETES_SERVICE_HOST and the like), mounted volumes.
//
// Errors name the container, the variable and the missing object. Values of Secrets
// are in no error.
//
// Resolve makes one read for each named object. A missing object or key is an error,
// except where the reference is optional. A resource without a limit gets the node's
// allocatable, as in a kubelet.
package workload
