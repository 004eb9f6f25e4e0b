{{- /* Stops with a message when a text has another form than it must have. The schema has no patterns: Helm would print the
bare expression, before this is evaluated. A value that is missing was not there when the release was made whose values are
used again. */}}
{{- define "karpenter.forms" -}}
{{- $name := dict "form" "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" "like" "a name of small letters, digits and '-', for example karpenter" }}
{{- $dotted := dict "form" "^$|^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" "like" "a name of small letters, digits, '-' and '.', for example karpenter" }}
{{- $duration := dict "form" "^([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+$" "like" "a duration with a unit, for example 10s or 1m30s" }}
{{- $address := dict "form" "^$|^https?://[^\\s/]+" "like" "an address with http:// or https://, for example https://api.linode.com" }}
{{- $plan := dict "form" "^(class=)?[a-zA-Z0-9*._-]+$" "like" "a plan such as g6-standard-2, with * for any text, or a class such as class=dedicated" }}
{{- $texts := list
  (list "apiTokenFile" .Values.apiTokenFile (dict "form" "^$|^/\\S+$" "like" "a path from the root, for example /var/run/linode/token"))
  (list "apiURL" .Values.apiURL $address)
  (list "region" .Values.region (dict "form" "^$|^[a-z]{2}-[a-z0-9-]+$" "like" "a region's ID, for example us-ord"))
  (list "nameOverride" .Values.nameOverride $name)
  (list "fullnameOverride" .Values.fullnameOverride $name)
  (list "serviceAccount.name" (.Values.serviceAccount).name $dotted)
  (list "prometheusRule.runbookURL" (.Values.prometheusRule).runbookURL $address)
  (list "grafanaDashboard.namespace" (.Values.grafanaDashboard).namespace $name)
  (list "podDisruptionBudget.name" (.Values.podDisruptionBudget).name $dotted)
  (list "controller.image.digest" ((.Values.controller).image).digest (dict "form" "^$|^sha256:[0-9a-f]{64}$" "like" "sha256: and 64 hexadecimal digits"))
  (list "settings.batchMaxDuration" (.Values.settings).batchMaxDuration $duration)
  (list "settings.batchIdleDuration" (.Values.settings).batchIdleDuration $duration)
  (list "settings.clusterName" (.Values.settings).clusterName (dict "form" "^\\S*$" "like" "the label of the LKE cluster, which has no spaces"))
  (list "settings.clusterEndpoint" (.Values.settings).clusterEndpoint $address)
  (list "settings.lkeCreateDeadline" (.Values.settings).lkeCreateDeadline $duration)
  (list "settings.settleTime" (.Values.settings).settleTime $duration)
  (list "settings.listLag" (.Values.settings).listLag $duration)
  (list "settings.lateEffect" (.Values.settings).lateEffect $duration)
  (list "settings.planRest" (.Values.settings).planRest $duration)
  (list "settings.lkeRetryDelay" (.Values.settings).lkeRetryDelay $duration)
}}
{{- with (.Values.settings).lkeTagVerificationTimeout }}{{ $texts = append $texts (list "settings.lkeTagVerificationTimeout" . $duration) }}{{ end }}
{{- range ((.Values.settings).plans).allow }}{{ $texts = append $texts (list "settings.plans.allow" . $plan) }}{{ end }}
{{- range ((.Values.settings).plans).deny }}{{ $texts = append $texts (list "settings.plans.deny" . $plan) }}{{ end }}
{{- range $texts }}
{{- if not (or (kindIs "invalid" (index . 1)) (regexMatch (index . 2).form (index . 1 | toString))) }}
{{- fail (printf "%s is %q, and must be %s" (index . 0) (index . 1 | toString) (index . 2).like) }}
{{- end }}
{{- end }}
{{- if not (regexMatch "^\\S*$" (.Values.apiToken | default "")) }}
{{- fail "apiToken has a space or line break in it, which no token has" }}
{{- end }}
{{- end }}
