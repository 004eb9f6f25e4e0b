{{- define "karpenter.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "karpenter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Labels that select the operator's pods. They never change: a Deployment's selector cannot. */}}
{{- define "karpenter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "karpenter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Labels of objects. The chart's own win over those of the values. */}}
{{- define "karpenter.labels" -}}
{{- toYaml (merge (include "karpenter.ownLabels" . | fromYaml) .Values.additionalLabels) }}
{{- end }}

{{- define "karpenter.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "karpenter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Labels of the pods: those that select them win over podLabels, and these over additionalLabels. */}}
{{- define "karpenter.podLabels" -}}
{{- toYaml (merge (include "karpenter.selectorLabels" . | fromYaml) .Values.podLabels .Values.additionalLabels) }}
{{- end }}

{{- /* The metadata of an object but for its name and namespace. */}}
{{- define "karpenter.metadata" -}}
labels:
  {{- include "karpenter.labels" . | nindent 2 }}
{{- with .Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "karpenter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "karpenter.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "karpenter.image" -}}
{{- $image := .Values.controller.image }}
{{- $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* Name of the user's Secret with the credentials, empty without one. */}}
{{- define "karpenter.credentialsSecretRef" -}}
{{- $ref := .Values.credentialsSecretRef }}
{{- if kindIs "map" $ref }}{{ $ref.name }}{{ else }}{{ $ref | default "" }}{{ end }}
{{- end }}

{{- /* Affinity in which pod anti-affinity terms without a selector select the operator's pods. */}}
{{- define "karpenter.affinity" -}}
{{- $selector := dict "matchLabels" (include "karpenter.selectorLabels" . | fromYaml) }}
{{- $affinity := deepCopy .Values.affinity }}
{{- with $affinity.podAntiAffinity }}
{{- range .requiredDuringSchedulingIgnoredDuringExecution }}
{{- if not .labelSelector }}{{ $_ := set . "labelSelector" $selector }}{{ end }}
{{- end }}
{{- range .preferredDuringSchedulingIgnoredDuringExecution }}
{{- if not .podAffinityTerm.labelSelector }}{{ $_ := set .podAffinityTerm "labelSelector" $selector }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "karpenter.topologySpreadConstraints" -}}
{{- $selector := dict "matchLabels" (include "karpenter.selectorLabels" . | fromYaml) }}
{{- $constraints := list }}
{{- range .Values.topologySpreadConstraints }}
{{- $constraint := deepCopy . }}
{{- if not $constraint.labelSelector }}{{ $_ := set $constraint "labelSelector" $selector }}{{ end }}
{{- $constraints = append $constraints $constraint }}
{{- end }}
{{- toYaml $constraints }}
{{- end }}

{{- /* Sources of variables. The alpha provider's chart made a Secret karpl-credentials of apiToken and read it here by
default; this chart makes none of that name, and a pod whose Secret is missing does not start. */}}
{{- define "karpenter.envFrom" -}}
{{- $sources := list }}
{{- range .Values.controller.envFrom }}
{{- if not (and $.Values.apiToken (eq (dig "secretRef" "name" "" .) "karpl-credentials")) }}{{ $sources = append $sources . }}{{ end }}
{{- end }}
{{- toYaml $sources }}
{{- end }}

{{- /* Containers beside the operator, with the mounts of the values added. */}}
{{- define "karpenter.sidecars" -}}
{{- $mounts := concat .Values.controller.extraVolumeMounts .Values.controller.sidecarVolumeMounts }}
{{- $containers := list }}
{{- range .Values.controller.sidecarContainer }}
{{- $container := deepCopy . }}
{{- with concat ($container.volumeMounts | default list) $mounts }}{{ $_ := set $container "volumeMounts" . }}{{ end }}
{{- $containers = append $containers $container }}
{{- end }}
{{- toYaml $containers }}
{{- end }}

{{- /* Ports of the APIs the operator calls: those of the API server, and that of apiURL or HTTPS. A JSON list. */}}
{{- define "karpenter.apiPorts" -}}
{{- $ports := list }}
{{- range .Values.networkPolicy.apiServerPorts | default (list 443 6443) }}{{ $ports = append $ports (int .) }}{{ end }}
{{- $port := 443 }}
{{- with include "karpenter.apiURL" . }}
{{- $host := (urlParse .).host }}
{{- if regexMatch ":[0-9]+$" $host }}{{ $port = regexFind "[0-9]+$" $host | int }}
{{- else if hasPrefix "http://" . }}{{ $port = 80 }}{{ end }}
{{- end }}
{{- append $ports $port | uniq | toJson }}
{{- end }}

{{- /* LINODE_URL as the controller gets it, from whichever value or object of the cluster; "" where that is not known. The
cluster is not asked by `helm template`. What comes later in the list wins, as in a container. */}}
{{- define "karpenter.apiURL" -}}
{{- $context := . }}
{{- $found := dict "url" "" }}
{{- range .Values.controller.envFrom }}
{{- with .configMapRef }}{{ include "karpenter.findURL" (list $found $context "ConfigMap" .name "LINODE_URL") }}{{ end }}
{{- with .secretRef }}{{ include "karpenter.findURL" (list $found $context "Secret" .name "LINODE_URL") }}{{ end }}
{{- end }}
{{- with include "karpenter.credentialsSecretRef" . }}{{ include "karpenter.findURL" (list $found $context "Secret" . "LINODE_URL") }}{{ end }}
{{- with .Values.apiURL }}{{ $_ := set $found "url" . }}{{ end }}
{{- range .Values.controller.env }}
{{- if eq .name "LINODE_URL" }}
{{- with .value }}{{ $_ := set $found "url" . }}{{ end }}
{{- with (.valueFrom).configMapKeyRef }}{{ include "karpenter.findURL" (list $found $context "ConfigMap" .name .key) }}{{ end }}
{{- with (.valueFrom).secretKeyRef }}{{ include "karpenter.findURL" (list $found $context "Secret" .name .key) }}{{ end }}
{{- end }}
{{- end }}
{{- $found.url }}
{{- end }}

{{- /* Sets url of the first argument to what an object of the cluster has under a key, if it has it. */}}
{{- define "karpenter.findURL" -}}
{{- $found := index . 0 }}{{ $context := index . 1 }}{{ $kind := index . 2 }}{{ $key := index . 4 }}
{{- $object := lookup "v1" $kind $context.Release.Namespace (index . 3) }}
{{- with index ($object.data | default dict) $key }}
{{- $_ := set $found "url" (ternary (b64dec .) . (eq $kind "Secret")) }}
{{- end }}
{{- end }}

{{- /* The file that credentialsSecretMount mounts the token as. */}}
{{- define "karpenter.mountedTokenFile" -}}
/var/run/secrets/linode/LINODE_TOKEN
{{- end }}

{{- define "karpenter.volumes" -}}
{{- $volumes := .Values.extraVolumes }}
{{- if .Values.credentialsSecretMount }}
{{- $items := list (dict "key" "LINODE_TOKEN" "path" "LINODE_TOKEN") }}
{{- $secret := dict "secretName" (include "karpenter.credentialsSecretRef" .) "items" $items "defaultMode" 0440 }}
{{- $volumes = append $volumes (dict "name" "linode-credentials" "secret" $secret) }}
{{- end }}
{{- if include "karpenter.managementSecret" . }}
{{- $items := list (dict "key" "value" "path" "kubeconfig") }}
{{- $secret := dict "secretName" (include "karpenter.managementSecret" .) "items" $items "defaultMode" 0440 }}
{{- $volumes = append $volumes (dict "name" "management-cluster" "secret" $secret) }}
{{- end }}
{{- with $volumes }}{{ toYaml . }}{{ end }}
{{- end }}

{{- define "karpenter.volumeMounts" -}}
{{- $mounts := .Values.controller.extraVolumeMounts }}
{{- if .Values.credentialsSecretMount }}
{{- $mounts = append $mounts (dict "name" "linode-credentials" "mountPath" (include "karpenter.mountedTokenFile" . | dir) "readOnly" true) }}
{{- end }}
{{- if include "karpenter.managementSecret" . }}
{{- $mounts = append $mounts (dict "name" "management-cluster" "mountPath" "/var/run/management-cluster" "readOnly" true) }}
{{- end }}
{{- with $mounts }}{{ toYaml . }}{{ end }}
{{- end }}

{{- /* The Secret with the kubeconfig of the management cluster, empty where the cluster manages itself. */}}
{{- define "karpenter.managementSecret" -}}
{{- if eq .Values.settings.mode "clusterapi" }}{{ (.Values.settings.clusterAPI).kubeconfigSecret }}{{ end }}
{{- end }}

{{- /* Stops with a message when values that only make sense together are not there together. */}}
{{- define "karpenter.validate" -}}
{{- include "karpenter.forms" . }}
{{- $ref := include "karpenter.credentialsSecretRef" . }}
{{- $named := dict }}
{{- range .Values.controller.env }}{{ $_ := set $named .name true }}{{ end }}
{{- $ways := list }}
{{- if .Values.apiToken }}{{ $ways = append $ways "apiToken" }}{{ end }}
{{- if $ref }}{{ $ways = append $ways "credentialsSecretRef" }}{{ end }}
{{- if .Values.apiTokenFile }}{{ $ways = append $ways "apiTokenFile" }}{{ end }}
{{- range $name := list "LINODE_TOKEN" "LINODE_TOKEN_FILE" }}
{{- if hasKey $named $name }}{{ $ways = append $ways (printf "%s in controller.env" $name) }}{{ end }}
{{- end }}
{{- if gt (len $ways) 1 }}
{{- fail (printf "the Linode API token is given in %d ways, %s: use exactly one of apiToken, credentialsSecretRef and apiTokenFile" (len $ways) (join " and " $ways)) }}
{{- end }}
{{- if not (or $ways .Values.controller.envFrom) }}
{{- fail "no Linode API token: set exactly one of apiToken, credentialsSecretRef (a Secret with the key LINODE_TOKEN) and apiTokenFile" }}
{{- end }}
{{- range .Values.controller.env }}
{{- if and (eq .name "LINODE_TOKEN") (hasKey . "value") }}
{{- fail "controller.env has LINODE_TOKEN as plain text, which every user with read access to Deployments can see: use apiToken, credentialsSecretRef or apiTokenFile" }}
{{- end }}
{{- end }}
{{- if and .Values.credentialsSecretMount (not $ref) }}
{{- fail "credentialsSecretMount is true, but credentialsSecretRef names no Secret" }}
{{- end }}
{{- if and (eq .Values.settings.mode "lke") (not .Values.settings.clusterName) (not (hasKey $named "CLUSTER_NAME")) (not .Values.controller.envFrom) }}
{{- fail "settings.clusterName is not set: in lke mode it must be the label of the LKE cluster" }}
{{- end }}
{{- if and (eq .Values.settings.mode "instance") (not .Values.settings.clusterName) (not (hasKey $named "CLUSTER_NAME")) (not .Values.controller.envFrom) }}
{{- fail "settings.clusterName is not set: in instance mode the labels of Linodes begin with it" }}
{{- end }}
{{- if and (eq .Values.settings.mode "clusterapi") (not (or .Values.region $ref (hasKey $named "CLUSTER_REGION") (hasKey $named "LINODE_REGION") .Values.controller.envFrom)) }}
{{- fail "region is not set: in clusterapi mode it must be the region in the LinodeMachineTemplates" }}
{{- end }}
{{- if and (eq .Values.settings.mode "instance") (not (or .Values.region $ref (hasKey $named "CLUSTER_REGION") (hasKey $named "LINODE_REGION") .Values.controller.envFrom)) }}
{{- fail "region is not set: in instance mode it must be the region of the cluster" }}
{{- end }}
{{- end }}
