package charttest

import (
	"reflect"
	"strings"
	"testing"
)

// alpha are the values of the alpha provider's chart, each with its default there. A user who copied that file and
// filled it in has these.
const alpha = `
apiToken: not-a-token
apiURL: https://api.linode.com
apiVersion: v4beta
region: ""
credentialsSecretRef: null
nameOverride: ""
fullnameOverride: ""
additionalLabels: {}
additionalAnnotations: {}
imagePullPolicy: IfNotPresent
imagePullSecrets: []
serviceAccount: {create: true, name: "", annotations: {}}
additionalClusterRoleRules: []
serviceMonitor: {enabled: false, additionalLabels: {}, endpointConfig: {}}
replicas: 2
revisionHistoryLimit: 10
strategy: {rollingUpdate: {maxUnavailable: 1}}
podLabels: {}
podAnnotations: {}
podDisruptionBudget: {name: karpenter, maxUnavailable: 1}
podSecurityContext: {fsGroup: 65532}
priorityClassName: system-cluster-critical
terminationGracePeriodSeconds: null
hostNetwork: false
dnsPolicy: ClusterFirst
dnsConfig: {}
nodeSelector: {kubernetes.io/os: linux}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/nodepool, operator: DoesNotExist}]}]
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]
topologySpreadConstraints: {}
tolerations: [{key: CriticalAddonsOnly, operator: Exists}]
extraVolumes: []
controller:
  image: {repository: docker.io/linode/karpenter-provider-linode, tag: latest, digest: ""}
  env: []
  envFrom: [{secretRef: {name: karpl-credentials}}]
  resources: {}
  extraVolumeMounts: []
  sidecarContainer: []
  sidecarVolumeMounts: []
  metrics: {port: 8080}
  healthProbe: {port: 8081}
webhook: {enabled: true, port: 8443, metrics: {port: 8001}}
logLevel: info
logOutputPaths: [stdout]
logErrorOutputPaths: [stderr]
settings:
  batchMaxDuration: 5m
  batchIdleDuration: 1m
  clusterCABundle: ""
  clusterID: ""
  clusterName: my-cluster
  clusterEndpoint: ""
  mode: lke
  lkeCreateDeadline: 10s
  lkeTagVerificationTimeout: 4s
  lkeRetryDelay: 2s
  vmMemoryOverheadPercent: 0.075
  tags: null
  featureGates: {nodeRepair: false}
`

func TestValuesOfTheAlphaChartAreAccepted(t *testing.T) {
	r := mustRender(t, "karpenter", alpha)
	if !strings.Contains(r.notes, "webhook.* has no effect") || !strings.Contains(r.notes, "karpl-credentials") {
		t.Errorf("the notes do not name what is left out:\n%s", r.notes)
	}
	pod := deployment(t, alpha).Spec.Template.Spec
	if len(pod.TopologySpreadConstraints) != 0 {
		t.Errorf("topologySpreadConstraints: {} gives %v", pod.TopologySpreadConstraints)
	}
	if sources := pod.Containers[0].EnvFrom; len(sources) != 0 {
		t.Errorf("the pod would wait for a Secret that the alpha chart made: %v", sources)
	}
	if image := pod.Containers[0].Image; image != "docker.io/linode/karpenter-provider-linode:latest" {
		t.Errorf("image %s", image)
	}
	var own []string // a user may have a Secret of that name and no token in the values
	for _, source := range deployment(t, alpha, `apiToken: ""`).Spec.Template.Spec.Containers[0].EnvFrom {
		own = append(own, source.SecretRef.Name)
	}
	if !reflect.DeepEqual(own, []string{"karpl-credentials"}) {
		t.Errorf("without apiToken the Secret is read from %v", own)
	}
	mustRender(t, "karpenter-crd", `webhook: {enabled: true, serviceName: karpenter, serviceNamespace: kube-system, port: 8443}`)
}

// Each of the alpha chart's values is in the list above, so that it is rendered with the alpha chart's default.
func TestTheAlphaValuesAreComplete(t *testing.T) {
	for _, path := range known {
		if _, ok := find(values(t, alpha), path); !ok {
			t.Errorf("the alpha chart's default of %s is missing", path)
		}
	}
}
