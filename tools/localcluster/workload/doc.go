// Package workload computes the arguments and the whole environment with which a kubelet
// would run a container of a pod.
//
// It is called by package localcluster, which runs the operator as a local process with
// exactly the arguments and the environment of the installed Deployment. It reads only
// the ConfigMaps and Secrets of the pod's namespace that the container names.
//
// Understood: env with values, secretKeyRef, configMapKeyRef, fieldRef and
// resourceFieldRef, envFrom with prefixes, optional references, and $(NAME) in
// values, command and args. Of two variables of the same name the later counts, as in a
// kubelet.
// Not understood, and an error when used: fileKeyRef and fields outside of the
// downward API. Not done: the variables of Services
// (KUBERNETES_SERVICE_HOST and the like), mounted volumes.
//
// Errors name the container, the variable and the missing object. Values of Secrets
// are in no error.
//
// Resolve makes one read for each named object. A missing object or key is an error,
// unless the reference is optional. A limit that the container does not have is the
// node's allocatable amount, as in a kubelet.
package workload
