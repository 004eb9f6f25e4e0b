package charttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func deployment(t *testing.T, documents ...string) appsv1.Deployment {
	t.Helper()
	r := mustRender(t, "karpenter", append([]string{quickstart}, documents...)...)
	return get[appsv1.Deployment](t, r, "Deployment", "karpenter")
}

func TestQuickstart(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart)
	want := []string{
		"ClusterRole/karpenter", "ClusterRole/karpenter-admin", "ClusterRole/karpenter-view", "ClusterRoleBinding/karpenter",
		"ConfigMap/karpenter-learned-capacity", "Deployment/karpenter", "Lease/karpenter-leader-election", "PodDisruptionBudget/karpenter",
		"Role/karpenter", "RoleBinding/karpenter", "Secret/karpenter",
		"Service/karpenter", "ServiceAccount/karpenter",
		"ValidatingAdmissionPolicy/karpenter-node-deletion", "ValidatingAdmissionPolicy/karpenter-nodeclaims",
		"ValidatingAdmissionPolicyBinding/karpenter-node-deletion", "ValidatingAdmissionPolicyBinding/karpenter-nodeclaims",
	}
	if got := r.names(); !reflect.DeepEqual(got, want) {
		t.Errorf("objects:\n got %v\nwant %v", got, want)
	}
	get[corev1.Service](t, r, "Service", "karpenter")
	get[corev1.ServiceAccount](t, r, "ServiceAccount", "karpenter")
	get[rbacv1.RoleBinding](t, r, "RoleBinding", "karpenter")
	get[rbacv1.ClusterRoleBinding](t, r, "ClusterRoleBinding", "karpenter")
	if pdb := get[policyv1.PodDisruptionBudget](t, r, "PodDisruptionBudget", "karpenter"); pdb.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("PodDisruptionBudget allows %v to be down, expected 1", pdb.Spec.MaxUnavailable)
	}
	if secret := get[corev1.Secret](t, r, "Secret", "karpenter"); string(secret.Data["LINODE_TOKEN"]) != "not-a-token" {
		t.Errorf("the Secret holds %v", secret.Data)
	}
	for _, object := range r.objects {
		if labels := object.GetLabels(); labels["app.kubernetes.io/name"] != "karpenter" || labels["app.kubernetes.io/instance"] != "karpenter" {
			t.Errorf("%s %s has labels %v", object.GetKind(), object.GetName(), labels)
		}
	}
}

// The token is in the Secret and nowhere else.
func TestTokenIsInTheSecretAlone(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart)
	for _, object := range r.objects {
		raw, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "not-a-token") {
			t.Errorf("%s %s holds the token", object.GetKind(), object.GetName())
		}
	}
	if strings.Contains(r.notes, "not-a-token") {
		t.Error("the notes hold the token")
	}
}

func TestPodIsLockedDown(t *testing.T) {
	pod := deployment(t).Spec.Template.Spec
	c := pod.Containers[0]
	security := c.SecurityContext
	switch {
	case !*security.RunAsNonRoot, *security.RunAsUser == 0, !*security.ReadOnlyRootFilesystem, *security.AllowPrivilegeEscalation:
		t.Errorf("container: %v", security)
	case !reflect.DeepEqual(security.Capabilities.Drop, []corev1.Capability{"ALL"}):
		t.Errorf("capabilities: %v", security.Capabilities)
	case security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		t.Errorf("seccomp profile: %v", security.SeccompProfile)
	}
	if pod.PriorityClassName != "system-cluster-critical" {
		t.Errorf("priority class %q", pod.PriorityClassName)
	}
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("probes: %v, %v", c.LivenessProbe.HTTPGet, c.ReadinessProbe.HTTPGet)
	}
}

func TestPlacement(t *testing.T) {
	d := deployment(t)
	pod := d.Spec.Template.Spec
	own := d.Spec.Selector.MatchLabels
	anti := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(anti) != 1 || anti[0].TopologyKey != "kubernetes.io/hostname" || !reflect.DeepEqual(anti[0].LabelSelector.MatchLabels, own) {
		t.Errorf("pod anti-affinity: %v", anti)
	}
	expression := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	if expression.Key != "karpenter.sh/nodepool" || expression.Operator != corev1.NodeSelectorOpDoesNotExist {
		t.Errorf("node affinity: %v", expression)
	}
	if spread := pod.TopologySpreadConstraints; len(spread) != 1 || !reflect.DeepEqual(spread[0].LabelSelector.MatchLabels, own) {
		t.Errorf("topology spread: %v", spread)
	}
	if !slices.ContainsFunc(pod.Tolerations, func(t corev1.Toleration) bool { return t.Key == "CriticalAddonsOnly" }) {
		t.Errorf("tolerations: %v", pod.Tolerations)
	}
	for key, value := range own {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the selector's label %s is not on the pods", key)
		}
	}

	pod = deployment(t, `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: null, preferredDuringSchedulingIgnoredDuringExecution: [
		{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {a: b}}}}, {weight: 2, podAffinityTerm: {topologyKey: host}}]}}`).Spec.Template.Spec
	preferred := pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if preferred[0].PodAffinityTerm.LabelSelector.MatchLabels["a"] != "b" ||
		!reflect.DeepEqual(preferred[1].PodAffinityTerm.LabelSelector.MatchLabels, own) {
		t.Errorf("preferred anti-affinity: %v", preferred)
	}
}

// Each value that only passes through to an object: the value, and the expected text with its place.
func TestPassedThrough(t *testing.T) {
	pod := func(d appsv1.Deployment) corev1.PodSpec { return d.Spec.Template.Spec }
	for _, test := range []struct {
		name, values string
		got          func(appsv1.Deployment) any
		want         any
	}{
		{"replicas", `replicas: 1`, func(d appsv1.Deployment) any { return *d.Spec.Replicas }, int32(1)},
		{"revisionHistoryLimit", `revisionHistoryLimit: 3`, func(d appsv1.Deployment) any { return *d.Spec.RevisionHistoryLimit }, int32(3)},
		{"strategy", `strategy: {rollingUpdate: {maxUnavailable: 2}}`,
			func(d appsv1.Deployment) any { return d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() }, 2},
		{"podLabels", `podLabels: {a: b}`, func(d appsv1.Deployment) any { return d.Spec.Template.Labels["a"] }, "b"},
		{"podAnnotations", `podAnnotations: {a: b}`, func(d appsv1.Deployment) any { return d.Spec.Template.Annotations["a"] }, "b"},
		{"additionalLabels", `additionalLabels: {a: b}`, func(d appsv1.Deployment) any { return d.Labels["a"] + d.Spec.Template.Labels["a"] },
			"bb"},
		{"labels that come twice", `{additionalLabels: {a: b, app.kubernetes.io/name: x}, podLabels: {a: c}}`, func(d appsv1.Deployment) any {
			return d.Labels["a"] + d.Spec.Template.Labels["a"] + d.Spec.Template.Labels["app.kubernetes.io/name"]
		}, "bckarpenter"},
		{"additionalAnnotations", `additionalAnnotations: {a: b}`, func(d appsv1.Deployment) any { return d.Annotations["a"] }, "b"},
		{"imagePullPolicy", `imagePullPolicy: Always`, func(d appsv1.Deployment) any { return pod(d).Containers[0].ImagePullPolicy },
			corev1.PullAlways},
		{"imagePullSecrets", `imagePullSecrets: [{name: s}]`, func(d appsv1.Deployment) any { return pod(d).ImagePullSecrets[0].Name }, "s"},
		{"image", `controller: {image: {repository: r.example/x, tag: v9}}`, func(d appsv1.Deployment) any { return pod(d).Containers[0].Image },
			"r.example/x:v9"},
		{"image digest", `controller: {image: {repository: r, digest: "sha256:` + strings.Repeat("0", 64) + `"}}`,
			func(d appsv1.Deployment) any { return pod(d).Containers[0].Image }, "r:0.1.0@sha256:" + strings.Repeat("0", 64)},
		{"podSecurityContext", `podSecurityContext: {fsGroup: 7}`, func(d appsv1.Deployment) any { return *pod(d).SecurityContext.FSGroup },
			int64(7)},
		{"priorityClassName", `priorityClassName: ""`, func(d appsv1.Deployment) any { return pod(d).PriorityClassName }, ""},
		{"terminationGracePeriodSeconds", `terminationGracePeriodSeconds: 5`,
			func(d appsv1.Deployment) any { return *pod(d).TerminationGracePeriodSeconds }, int64(5)},
		{"hostNetwork", `hostNetwork: true`, func(d appsv1.Deployment) any { return pod(d).HostNetwork }, true},
		{"dnsPolicy", `dnsPolicy: Default`, func(d appsv1.Deployment) any { return pod(d).DNSPolicy }, corev1.DNSDefault},
		{"dnsConfig", `dnsConfig: {nameservers: [1.1.1.1]}`, func(d appsv1.Deployment) any { return pod(d).DNSConfig.Nameservers[0] }, "1.1.1.1"},
		{"nodeSelector", `nodeSelector: {a: b}`, func(d appsv1.Deployment) any { return pod(d).NodeSelector["a"] }, "b"},
		{"no affinity", `affinity: {nodeAffinity: null, podAntiAffinity: null}`,
			func(d appsv1.Deployment) any { return pod(d).Affinity == nil || pod(d).Affinity.NodeAffinity == nil }, true},
		{"no spread", `topologySpreadConstraints: []`, func(d appsv1.Deployment) any { return len(pod(d).TopologySpreadConstraints) }, 0},
		{"tolerations", `tolerations: [{key: t, operator: Exists}]`, func(d appsv1.Deployment) any { return pod(d).Tolerations[0].Key }, "t"},
		{"extraVolumes", `extraVolumes: [{name: v, emptyDir: {}}]`, func(d appsv1.Deployment) any { return pod(d).Volumes[0].Name }, "v"},
		{"extraVolumeMounts", `controller: {extraVolumeMounts: [{name: v, mountPath: /v}]}`,
			func(d appsv1.Deployment) any { return pod(d).Containers[0].VolumeMounts[0].MountPath }, "/v"},
		{"envFrom", `controller: {envFrom: [{secretRef: {name: s}}]}`,
			func(d appsv1.Deployment) any { return pod(d).Containers[0].EnvFrom[0].SecretRef.Name }, "s"},
		{"initContainers", `initContainers: [{name: first, image: i}]`, func(d appsv1.Deployment) any { return pod(d).InitContainers[0].Name },
			"first"},
		{"schedulerName", `schedulerName: other`, func(d appsv1.Deployment) any { return pod(d).SchedulerName }, "other"},
		{"AppArmor", `controller: {securityContext: {appArmorProfile: {type: RuntimeDefault}}}`, func(d appsv1.Deployment) any {
			return pod(d).Containers[0].SecurityContext.AppArmorProfile.Type
		}, corev1.AppArmorProfileTypeRuntimeDefault},
		{"SELinux", `controller: {securityContext: {seLinuxOptions: {level: s0}}}`, func(d appsv1.Deployment) any {
			return pod(d).Containers[0].SecurityContext.SELinuxOptions.Level
		}, "s0"},
		{"seccomp", `controller: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}}`, func(d appsv1.Deployment) any {
			return *pod(d).Containers[0].SecurityContext.SeccompProfile.LocalhostProfile
		}, "p"},
		{"resources", `controller: {resources: {requests: {cpu: 2}}}`,
			func(d appsv1.Deployment) any { return pod(d).Containers[0].Resources.Requests.Cpu().Value() }, int64(2)},
		{"metrics port", `controller: {metrics: {port: 9090}}`,
			func(d appsv1.Deployment) any { return pod(d).Containers[0].Ports[0].ContainerPort }, int32(9090)},
		{"probe port", `controller: {healthProbe: {port: 9091}}`,
			func(d appsv1.Deployment) any { return pod(d).Containers[0].Ports[1].ContainerPort }, int32(9091)},
		{"sidecar", `{controller: {extraVolumeMounts: [{name: v, mountPath: /v}], sidecarVolumeMounts: [{name: w, mountPath: /w}], sidecarContainer: [{name: side, image: i,
			volumeMounts: [{name: u, mountPath: /u}]}]}}`, func(d appsv1.Deployment) any {
			var paths []string
			for _, m := range pod(d).Containers[1].VolumeMounts {
				paths = append(paths, m.MountPath)
			}
			return pod(d).Containers[1].Name + strings.Join(paths, "")
		}, "side/u/v/w"},
		{"serviceAccount of the user", `serviceAccount: {create: false, name: mine}`,
			func(d appsv1.Deployment) any { return pod(d).ServiceAccountName }, "mine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.got(deployment(t, test.values)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, expected %v", got, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, test := range []struct{ name, values, object string }{
		{"nameOverride within the release's name", `nameOverride: karp`, "Deployment/karpenter"},
		{"nameOverride", `nameOverride: nodes`, "Deployment/karpenter-nodes"},
		{"fullnameOverride", `fullnameOverride: nodes`, "Deployment/nodes"},
		{"podDisruptionBudget.name", `podDisruptionBudget: {name: budget}`, "PodDisruptionBudget/budget"},
		{"serviceAccount.name", `serviceAccount: {name: account}`, "ServiceAccount/account"},
		{"serviceMonitor", `serviceMonitor: {enabled: true, additionalLabels: {a: b}, endpointConfig: {interval: 30s}}`,
			"ServiceMonitor/karpenter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if names := mustRender(t, "karpenter", quickstart, test.values).names(); !slices.Contains(names, test.object) {
				t.Errorf("no %s among %v", test.object, names)
			}
		})
	}
	if names := mustRender(t, "karpenter", quickstart, `serviceAccount: {create: false}`).names(); slices.Contains(names,
		"ServiceAccount/karpenter") {
		t.Error("a ServiceAccount is created although serviceAccount.create is false")
	}
}

func TestServiceMonitor(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, `serviceMonitor: {enabled: true, additionalLabels: {a: b}, endpointConfig: {interval: 30s}, sampleLimit: 7,
		relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: labeldrop, regex: zone}]}`)
	monitor := get[map[string]any](t, r, "ServiceMonitor", "karpenter")
	if labels := monitor["metadata"].(map[string]any)["labels"].(map[string]any); labels["a"] != "b" {
		t.Errorf("labels: %v", labels)
	}
	endpoint := monitor["spec"].(map[string]any)["endpoints"].([]any)[0]
	if limit := monitor["spec"].(map[string]any)["sampleLimit"]; limit != 7.0 {
		t.Errorf("sampleLimit: %v", limit)
	}
	drop := func(label string) []any { return []any{map[string]any{"action": "labeldrop", "regex": label}} }
	if want := map[string]any{"port": "http-metrics", "path": "/metrics", "interval": "30s", "relabelings": drop("pod"),
		"metricRelabelings": drop("zone")}; !reflect.DeepEqual(endpoint, want) {
		t.Errorf("endpoint: %v", endpoint)
	}
}
