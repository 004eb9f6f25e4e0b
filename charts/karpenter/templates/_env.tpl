{{- /* The operator's environment, as a list of name and value. Values that are not set are left to the
controller's own defaults. Variables of controller.env take the place of the chart's, also by their former names. */}}
{{- define "karpenter.env" -}}
{{- $own := dict }}
{{- range .Values.controller.env }}{{ $_ := set $own .name true }}{{ end }}
{{- if hasKey $own "LKE_TAG_VERIFICATION_TIMEOUT" }}{{ $_ := set $own "SETTLE_TIME" true }}{{ end }}
{{- $env := list }}
{{- range include "karpenter.chartEnv" . | fromYamlArray }}
{{- if not (hasKey $own .name) }}{{ $env = append $env . }}{{ end }}
{{- end }}
{{- toYaml (concat $env .Values.controller.env) }}
{{- end }}

{{- define "karpenter.chartEnv" -}}
{{- $ref := include "karpenter.credentialsSecretRef" . }}
{{- $settings := .Values.settings }}
{{- if .Values.apiToken }}
- name: LINODE_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "karpenter.fullname" . }}
      key: LINODE_TOKEN
{{- else if .Values.apiTokenFile }}
- name: LINODE_TOKEN_FILE
  value: {{ .Values.apiTokenFile | quote }}
{{- else if .Values.credentialsSecretMount }}
- name: LINODE_TOKEN_FILE
  value: {{ include "karpenter.mountedTokenFile" . }}
{{- else if $ref }}
- name: LINODE_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $ref }}
      key: LINODE_TOKEN
{{- end }}
{{- range $name, $value := dict "LINODE_URL" .Values.apiURL "LINODE_API_VERSION" .Values.apiVersion "CLUSTER_REGION" .Values.region }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- else if $ref }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $ref }}
      key: {{ $name }}
      optional: true
{{- end }}
{{- end }}
- name: KARPENTER_MODE
  value: {{ $settings.mode | quote }}
{{- range $name, $value := dict "CLUSTER_NAME" $settings.clusterName "CLUSTER_ENDPOINT" $settings.clusterEndpoint "CLUSTER_CA_BUNDLE" $settings.clusterCABundle }}
{{- with $value }}
- name: {{ $name }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
- name: LKE_CREATE_DEADLINE
  value: {{ $settings.lkeCreateDeadline | quote }}
- name: SETTLE_TIME
  value: {{ $settings.lkeTagVerificationTimeout | default $settings.settleTime | quote }}
- name: LIST_LAG
  value: {{ $settings.listLag | quote }}
- name: LATE_EFFECT
  value: {{ $settings.lateEffect | quote }}
- name: PLAN_REST
  value: {{ $settings.planRest | quote }}
- name: LKE_RETRY_DELAY
  value: {{ $settings.lkeRetryDelay | quote }}
- name: LKE_UNREGISTERED_TAINT
  value: {{ $settings.lkeUnregisteredTaint | quote }}
{{- if $settings.adoptAlpha }}
- name: ADOPT_ALPHA
  value: "true"
{{- end }}
{{- if $settings.nodePriceLabel }}
- name: NODE_PRICE_LABEL
  value: "true"
{{- end }}
{{- if $settings.surgeBeforeDrain }}
- name: SURGE_BEFORE_DRAIN
  value: "true"
{{- end }}
{{- if $settings.hostMaintenance }}
- name: HOST_MAINTENANCE
  value: "true"
{{- end }}
{{- if eq $settings.mode "clusterapi" }}
- name: CLUSTERAPI_NAMESPACE
  value: {{ required "settings.clusterAPI.namespace is not set: in clusterapi mode it is the namespace of the Cluster object" ($settings.clusterAPI).namespace | quote }}
{{- if include "karpenter.managementSecret" . }}
- name: CLUSTERAPI_KUBECONFIG
  value: /var/run/management-cluster/kubeconfig
{{- end }}
{{- end }}
{{- if and (eq $settings.mode "instance") ($settings.instance).approveServingCertificates }}
- name: APPROVE_SERVING_CERTIFICATES
  value: "true"
{{- end }}
{{- if and (eq $settings.mode "instance") ($settings.instance).tags }}
- name: INSTANCE_TAGS
  value: {{ join "," $settings.instance.tags | quote }}
{{- end }}
{{- if eq $settings.mode "instance" }}
- name: BOOTSTRAP_TOKENS
  value: {{ include "karpenter.bootstrapTokens" . | quote }}
{{- $secrets := list }}
{{- range ($settings.instance).secrets }}{{ $secrets = append $secrets (printf "%s/%s" .namespace .name) }}{{ end }}
{{- with $secrets }}
- name: CLASS_SECRETS
  value: {{ join "," . | quote }}
{{- end }}
{{- $allow := dict }}
{{- range $list, $values := ($settings.instance).allow }}{{ if $values }}{{ $_ := set $allow $list $values }}{{ end }}{{ end }}
{{- with $allow }}
- name: CLASS_ALLOW
  value: {{ toJson . | quote }}
{{- end }}
{{- end }}
{{- with $settings.maxNodes }}
- name: MAX_NODES
  value: {{ . | int64 | quote }}
{{- end }}
{{- with $settings.maxHourlyPrice }}
- name: MAX_HOURLY_PRICE
  value: {{ . | quote }}
{{- end }}
{{- with $settings.plans }}
- name: PLANS_ALLOW
  value: {{ join "," .allow | quote }}
{{- with .prices }}
{{- $prices := list }}
{{- range $plan := keys . | sortAlpha | reverse }}
{{- $prices = append $prices (printf "%s=%v" $plan (index $settings.plans.prices $plan)) }}
{{- end }}
- name: PLANS_PRICES
  value: {{ join "," $prices | quote }}
{{- end }}
{{- $deny := join "," .deny | default "none" }}
{{- if not (and (ne $settings.mode "lke") (eq $deny (include "karpenter.deniedByLKE" $))) }}
- name: PLANS_DENY
  value: {{ $deny | quote }}
{{- end }}
{{- end }}
{{- if not (kindIs "invalid" $settings.vmMemoryOverheadPercent) }}
- name: VM_MEMORY_OVERHEAD_PERCENT
  value: {{ $settings.vmMemoryOverheadPercent | quote }}
{{- end }}
- name: DISABLE_DRY_RUN
  value: {{ $settings.disableDryRun | quote }}
- name: BATCH_MAX_DURATION
  value: {{ $settings.batchMaxDuration | quote }}
- name: BATCH_IDLE_DURATION
  value: {{ $settings.batchIdleDuration | quote }}
- name: PREFERENCE_POLICY
  value: {{ $settings.preferencePolicy | quote }}
- name: MIN_VALUES_POLICY
  value: {{ $settings.minValuesPolicy | quote }}
{{- if hasKey $settings "ignoreDRARequests" }}
- name: IGNORE_DRA_REQUESTS
  value: {{ $settings.ignoreDRARequests | quote }}
{{- end }}
{{- if $settings.legacyNodeRepair }}
- name: LEGACY_NODE_REPAIR
  value: "true"
{{- end }}
{{- with $settings.schedulerConfig }}
- name: SCHEDULER_CONFIG
  value: {{ toJson . | quote }}
{{- end }}
- name: FEATURE_GATES
  value: {{ include "karpenter.featureGates" $settings.featureGates }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
- name: LOG_OUTPUT_PATHS
  value: {{ join "," .Values.logOutputPaths | quote }}
- name: LOG_ERROR_OUTPUT_PATHS
  value: {{ join "," .Values.logErrorOutputPaths | quote }}
- name: METRICS_PORT
  value: {{ .Values.controller.metrics.port | quote }}
- name: HEALTH_PROBE_PORT
  value: {{ .Values.controller.healthProbe.port | quote }}
- name: KARPENTER_SERVICE
  value: {{ include "karpenter.fullname" . }}
- name: LEADER_ELECTION_NAME
  value: {{ include "karpenter.leaderElectionName" . }}
- name: LEADER_ELECTION_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: LEARNED_CAPACITY_CONFIGMAP
  value: {{ .Release.Namespace }}/{{ include "karpenter.learnedCapacityName" . }}
- name: CPU_REQUESTS
  valueFrom:
    resourceFieldRef:
      containerName: controller
      resource: requests.cpu
      divisor: 1m
- name: MEMORY_LIMIT
  valueFrom:
    resourceFieldRef:
      containerName: controller
      resource: limits.memory
      divisor: "1"
{{- end }}

{{- /* The default of settings.plans.deny, which is about LKE: in instance mode the operator has another. */}}
{{- define "karpenter.deniedByLKE" -}}
class=nanode,g1-gpu-rtx6000-*,class=accelerated
{{- end }}

{{- /* Whether the operator makes bootstrap tokens; values of an older release have no such setting. */}}
{{- define "karpenter.bootstrapTokens" -}}
{{- $instance := .Values.settings.instance | default dict }}
{{- if hasKey $instance "bootstrapTokens" }}{{ $instance.bootstrapTokens }}{{ else }}true{{ end }}
{{- end }}

{{- /* Stops for a Secret that no class may name: what classes name is in the user data of nodes. */}}
{{- define "karpenter.classSecret" -}}
{{- $own := include "karpenter.credentialsSecretRef" .root }}
{{- if .root.Values.apiToken }}{{ $own = include "karpenter.fullname" .root }}{{ end }}
{{- if hasPrefix "bootstrap-token-" .secret.name }}
{{- fail (printf "settings.instance.secrets has %s/%s, a bootstrap token, which no node may be given; list a Secret of its own" .secret.namespace .secret.name) }}
{{- end }}
{{- if and (eq .secret.namespace .root.Release.Namespace) (eq .secret.name $own) }}
{{- fail (printf "settings.instance.secrets has %s/%s, the Secret of the operator's own API token, which no node may be given; list a Secret of its own" .secret.namespace .secret.name) }}
{{- end }}
{{- end }}

{{- /* The gates as core has them: NodeRepair=false,NodeOverlay=true,... Values that an older release left (--reuse-values)
lack some; core has defaults for those. */}}
{{- define "karpenter.featureGates" -}}
{{- $gates := list }}
{{- range $name := list "nodeRepair" "nodeOverlay" "reservedCapacity" "spotToSpotConsolidation" "staticCapacity" "capacityBuffer"
  "terminateFirstDrift" "terminateFirstRepair" "podDeletionCostManagement" }}
{{- if hasKey $ $name }}
{{- $gates = append $gates (printf "%s%s=%t" (substr 0 1 $name | upper) (substr 1 -1 $name) (index $ $name)) }}
{{- end }}
{{- end }}
{{- join "," $gates }}
{{- end }}

{{- /* Name of the Lease by which one controller of several is chosen; the Role names it too. */}}
{{- define "karpenter.leaderElectionName" -}}
karpenter-leader-election
{{- end }}

{{- /* Name of the ConfigMap that holds what nodes have taught; the Role names it too. */}}
{{- define "karpenter.learnedCapacityName" -}}
{{ include "karpenter.fullname" . }}-learned-capacity
{{- end }}
