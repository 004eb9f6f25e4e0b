package plane

// Only nodes with this label are played by kwok.
const (
	NodeLabel      = "local.karpenter.k8s.linode/kubelet"
	NodeLabelValue = "kwok"
)

// kwokConfiguration configures in kwok what a kubelet does, in stages: an object that
// matches a stage's selector becomes what its template has. A node comes with
// everything a kubelet reports about its machine already in its status, so only its
// conditions are kwok's. A condition that a client sets to False stays, so that a
// test can break a node; Unknown (no heartbeat was seen, as after a laptop's
// sleep) heals. A pod that is deleted uses all of its grace period, the end of
// which is its deletionTimestamp.
const kwokConfiguration = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 16
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-joins}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select(.type == "Ready") | .status', operator: NotIn, values: ["True", "False"]}
  next:
    statusTemplate: |
      {{ $now := Now | Quote }}
      phase: Running
      conditions:
      - {type: Ready, status: "True", reason: KubeletReady, message: "kubelet is posting ready status", lastHeartbeatTime: {{ $now }}, lastTransitionTime: {{ $now }}}
      - {type: MemoryPressure, status: "False", reason: KubeletHasSufficientMemory, lastHeartbeatTime: {{ $now }}, lastTransitionTime: {{ $now }}}
      - {type: DiskPressure, status: "False", reason: KubeletHasNoDiskPressure, lastHeartbeatTime: {{ $now }}, lastTransitionTime: {{ $now }}}
      - {type: PIDPressure, status: "False", reason: KubeletHasSufficientPID, lastHeartbeatTime: {{ $now }}, lastTransitionTime: {{ $now }}}
      - {type: NetworkUnavailable, status: "False", reason: RouteCreated, lastHeartbeatTime: {{ $now }}, lastTransitionTime: {{ $now }}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-starts}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: DoesNotExist}
    - {key: '.status.phase', operator: In, values: [Pending]}
    - {key: '.status.conditions.[] | select(.type == "Ready") | .status', operator: NotIn, values: ["True"]}
  next:
    statusTemplate: |
      {{ $now := Now | Quote }}
      phase: Running
      startTime: {{ $now }}
      {{ with NodeIPsWith .spec.nodeName }}
      hostIP: {{ index . 0 | Quote }}
      hostIPs: [{ip: {{ index . 0 | Quote }}}]
      {{ end }}
      {{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid "") (or .metadata.name "") (or .metadata.namespace "") }}
      podIP: {{ index . 0 | Quote }}
      podIPs: [{ip: {{ index . 0 | Quote }}}]
      {{ end }}
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ $now }}}
      - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now }}}
      - {type: Ready, status: "True", lastTransitionTime: {{ $now }}}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, started: true, restartCount: 0, state: {running: {startedAt: {{ $now }}}}}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: job-pod-completes}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: DoesNotExist}
    - {key: '.status.phase', operator: In, values: [Running]}
    - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
  next:
    statusTemplate: |
      {{ $now := Now | Quote }}
      phase: Succeeded
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0, state: {terminated: {exitCode: 0, reason: Completed, finishedAt: {{ $now }}}}}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ends}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: Exists}
  delay: {durationMilliseconds: 0, durationFrom: {expressionFrom: '.metadata.deletionTimestamp'}}
  next: {delete: true}
`
