package charttest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// Each value, set to something else than its default in the chart's values of the quickstart. Where a value has an effect
// only together with another, that one comes first.
var others = map[string][]string{
	"apiToken":                        {`apiToken: another`},
	"apiTokenFile":                    {`apiToken: ""`, `apiTokenFile: /token`},
	"apiURL":                          {`apiURL: https://api.example`},
	"apiVersion":                      {`apiVersion: v4`},
	"region":                          {`region: us-ord`},
	"credentialsSecretRef":            {`apiToken: ""`, `credentialsSecretRef: mine`},
	"credentialsSecretMount":          {`{apiToken: "", credentialsSecretRef: mine}`, `credentialsSecretMount: true`},
	"nameOverride":                    {`nameOverride: nodes`},
	"fullnameOverride":                {`fullnameOverride: nodes`},
	"additionalLabels":                {`additionalLabels: {a: b}`},
	"additionalAnnotations":           {`additionalAnnotations: {a: b}`},
	"imagePullPolicy":                 {`imagePullPolicy: Always`},
	"imagePullSecrets":                {`imagePullSecrets: [{name: s}]`},
	"serviceAccount.create":           {`serviceAccount: {create: false}`},
	"serviceAccount.name":             {`serviceAccount: {name: other}`},
	"serviceAccount.annotations":      {`serviceAccount: {annotations: {a: b}}`},
	"additionalClusterRoleRules":      {`additionalClusterRoleRules: [{apiGroups: [a], resources: [b], verbs: [get]}]`},
	"verticalPodAutoscalerRights":     {`verticalPodAutoscalerRights: true`},
	"service.annotations":             {`service: {annotations: {a: b}}`},
	"serviceMonitor.enabled":          {`serviceMonitor: {enabled: true}`},
	"serviceMonitor.additionalLabels": {`serviceMonitor: {enabled: true}`, `serviceMonitor: {additionalLabels: {a: b}}`},
	"serviceMonitor.endpointConfig":   {`serviceMonitor: {enabled: true}`, `serviceMonitor: {endpointConfig: {interval: 5s}}`},
	"serviceMonitor.relabelings": {`serviceMonitor: {enabled: true}`,
		`serviceMonitor: {relabelings: [{action: labeldrop, regex: pod}]}`},
	"serviceMonitor.metricRelabelings": {`serviceMonitor: {enabled: true}`,
		`serviceMonitor: {metricRelabelings: [{action: labeldrop, regex: pod}]}`},
	"serviceMonitor.sampleLimit":                 {`serviceMonitor: {enabled: true}`, `serviceMonitor: {sampleLimit: 9}`},
	"prometheusRule.enabled":                     {`prometheusRule: {enabled: true}`},
	"prometheusRule.additionalLabels":            {`prometheusRule: {enabled: true}`, `prometheusRule: {additionalLabels: {a: b}}`},
	"prometheusRule.runbookURL":                  {`prometheusRule: {enabled: true}`, `prometheusRule: {runbookURL: https://wiki.example.com/karpenter}`},
	"prometheusRule.alertLabels":                 {`prometheusRule: {enabled: true}`, `prometheusRule: {alertLabels: {a: b}}`},
	"grafanaDashboard.enabled":                   {`grafanaDashboard: {enabled: true}`},
	"grafanaDashboard.namespace":                 {`grafanaDashboard: {enabled: true}`, `grafanaDashboard: {namespace: boards}`},
	"grafanaDashboard.labels":                    {`grafanaDashboard: {enabled: true}`, `grafanaDashboard: {labels: {a: b}}`},
	"grafanaDashboard.annotations":               {`grafanaDashboard: {enabled: true}`, `grafanaDashboard: {annotations: {a: b}}`},
	"networkPolicy.enabled":                      {`networkPolicy: {enabled: true}`},
	"networkPolicy.metricsFrom":                  {`networkPolicy: {enabled: true}`, `networkPolicy: {metricsFrom: [{podSelector: {}}]}`},
	"networkPolicy.apiServerPorts":               {`networkPolicy: {enabled: true}`, `networkPolicy: {apiServerPorts: [1]}`},
	"networkPolicy.extraIngress":                 {`networkPolicy: {enabled: true}`, `networkPolicy: {extraIngress: [{}]}`},
	"networkPolicy.extraEgress":                  {`networkPolicy: {enabled: true}`, `networkPolicy: {extraEgress: [{}]}`},
	"settings.instance.allow.images":             {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {allow: {images: [a]}}}`},
	"settings.instance.allow.firewalls":          {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {allow: {firewalls: [1]}}}`},
	"settings.instance.allow.vpcs":               {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {allow: {vpcs: [1]}}}`},
	"settings.instance.allow.authorizedKeys":     {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {allow: {authorizedKeys: [a]}}}`},
	"settings.instance.allow.authorizedUsers":    {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {allow: {authorizedUsers: [a]}}}`},
	"settings.instance.bootstrapTokens":          {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {bootstrapTokens: false}}`},
	"settings.instance.bootstrapTokenPolicy":     {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {bootstrapTokenPolicy: false}}`},
	"admissionPolicy.nodeClaims":                 {`admissionPolicy: {nodeClaims: false}`},
	"admissionPolicy.enabled":                    {`admissionPolicy: {enabled: true}`},
	"admissionPolicy.nodePoolLimits":             {`admissionPolicy: {enabled: true}`, `admissionPolicy: {nodePoolLimits: false}`},
	"admissionPolicy.exemptUsers":                {`admissionPolicy: {enabled: true}`, `admissionPolicy: {exemptUsers: [administrator]}`},
	"nodeDeletionPolicy.enabled":                 {`nodeDeletionPolicy: {enabled: false}`},
	"nodeDeletionPolicy.users":                   {`nodeDeletionPolicy: {users: [cloud]}`},
	"replicas":                                   {`replicas: 1`},
	"revisionHistoryLimit":                       {`revisionHistoryLimit: 1`},
	"strategy":                                   {`strategy: {rollingUpdate: {maxSurge: 2}}`},
	"podLabels":                                  {`podLabels: {a: b}`},
	"podAnnotations":                             {`podAnnotations: {a: b}`},
	"podDisruptionBudget.name":                   {`podDisruptionBudget: {name: other}`},
	"podDisruptionBudget.maxUnavailable":         {`podDisruptionBudget: {maxUnavailable: 2}`},
	"podSecurityContext":                         {`podSecurityContext: {fsGroup: 1}`},
	"priorityClassName":                          {`priorityClassName: p`},
	"terminationGracePeriodSeconds":              {`terminationGracePeriodSeconds: 1`},
	"hostNetwork":                                {`hostNetwork: true`},
	"schedulerName":                              {`schedulerName: other`},
	"initContainers":                             {`initContainers: [{name: first, image: i}]`},
	"dnsPolicy":                                  {`dnsPolicy: Default`},
	"dnsConfig":                                  {`dnsConfig: {searches: [a]}`},
	"nodeSelector":                               {`nodeSelector: {a: b}`},
	"affinity.nodeAffinity":                      {`affinity: {nodeAffinity: null}`},
	"affinity.podAffinity":                       {`affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}`},
	"affinity.podAntiAffinity":                   {`affinity: {podAntiAffinity: null}`},
	"topologySpreadConstraints":                  {`topologySpreadConstraints: []`},
	"tolerations":                                {`tolerations: []`},
	"extraVolumes":                               {`extraVolumes: [{name: v, emptyDir: {}}]`},
	"controller.image.repository":                {`controller: {image: {repository: r}}`},
	"controller.image.tag":                       {`controller: {image: {tag: t}}`},
	"controller.image.digest":                    {`controller: {image: {digest: "sha256:0123456789012345678901234567890123456789012345678901234567890123"}}`},
	"controller.env":                             {`controller: {env: [{name: A, value: b}]}`},
	"controller.envFrom":                         {`controller: {envFrom: [{secretRef: {name: s}}]}`},
	"controller.securityContext.appArmorProfile": {`controller: {securityContext: {appArmorProfile: {type: RuntimeDefault}}}`},
	"controller.securityContext.seLinuxOptions":  {`controller: {securityContext: {seLinuxOptions: {level: s0}}}`},
	"controller.securityContext.seccompProfile":  {`controller: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}}`},
	"controller.resources.requests":              {`controller: {resources: {requests: {cpu: 1}}}`},
	"controller.resources.limits":                {`controller: {resources: {limits: {memory: 2Gi}}}`},
	"controller.resources.claims":                {`controller: {resources: {claims: [{name: c}]}}`},
	"controller.extraVolumeMounts":               {`controller: {extraVolumeMounts: [{name: v, mountPath: /v}]}`},
	"controller.sidecarContainer":                {`controller: {sidecarContainer: [{name: s}]}`},
	"controller.sidecarVolumeMounts": {`controller: {sidecarContainer: [{name: s}]}`,
		`controller: {sidecarVolumeMounts: [{name: v, mountPath: /v}]}`},
	"controller.metrics.port":     {`controller: {metrics: {port: 1}}`},
	"controller.healthProbe.port": {`controller: {healthProbe: {port: 1}}`},
	"logLevel":                    {`logLevel: debug`},
	"logOutputPaths":              {`logOutputPaths: [stderr]`},
	"logErrorOutputPaths":         {`logErrorOutputPaths: [stdout]`},
	"settings.batchMaxDuration":   {`settings: {batchMaxDuration: 11s}`},
	"settings.batchIdleDuration":  {`settings: {batchIdleDuration: 2s}`},
	"settings.clusterCABundle":    {`settings: {clusterCABundle: QQ==}`},
	"settings.clusterName":        {`settings: {clusterName: other}`},
	"settings.clusterEndpoint":    {`settings: {clusterEndpoint: https://a}`},
	"settings.mode":               {`region: us-ord`, `settings: {mode: instance}`},
	"settings.instance.approveServingCertificates": {`{region: us-ord, settings: {mode: instance}}`,
		`settings: {instance: {approveServingCertificates: true}}`},
	"settings.clusterAPI.namespace":        {clusterAPIMode, `settings: {clusterAPI: {namespace: other}}`},
	"settings.clusterAPI.kubeconfigSecret": {clusterAPIMode, `settings: {clusterAPI: {kubeconfigSecret: management}}`},
	"settings.instance.tags":               {`{region: us-ord, settings: {mode: instance}}`, `settings: {instance: {tags: [team=a]}}`},
	"settings.instance.secrets": {`{region: us-ord, settings: {mode: instance}}`,
		`settings: {instance: {secrets: [{namespace: a, name: b}]}}`},
	"settings.lkeCreateDeadline":                      {`settings: {lkeCreateDeadline: 1m}`},
	"settings.settleTime":                             {`settings: {settleTime: 1m}`},
	"settings.listLag":                                {`settings: {listLag: 1m}`},
	"settings.lateEffect":                             {`settings: {lateEffect: 1m}`},
	"settings.planRest":                               {`settings: {planRest: 1m}`},
	"settings.lkeTagVerificationTimeout":              {`settings: {lkeTagVerificationTimeout: 1m}`},
	"settings.lkeRetryDelay":                          {`settings: {lkeRetryDelay: 1m}`},
	"settings.lkeUnregisteredTaint":                   {`settings: {lkeUnregisteredTaint: true}`},
	"settings.plans.allow":                            {`settings: {plans: {allow: [class=dedicated]}}`},
	"settings.plans.deny":                             {`settings: {plans: {deny: []}}`},
	"settings.plans.prices":                           {`settings: {plans: {prices: {g2-gpu-*: 1.5}}}`},
	"settings.maxNodes":                               {`settings: {maxNodes: 5}`},
	"settings.maxHourlyPrice":                         {`settings: {maxHourlyPrice: 2.5}`},
	"settings.adoptAlpha":                             {`settings: {adoptAlpha: true}`},
	"settings.surgeBeforeDrain":                       {`settings: {surgeBeforeDrain: true}`},
	"serviceMonitor.keep":                             {`serviceMonitor: {enabled: true, keep: essential}`},
	"settings.nodePriceLabel":                         {`settings: {nodePriceLabel: true}`},
	"settings.hostMaintenance":                        {`settings: {hostMaintenance: true}`},
	"settings.vmMemoryOverheadPercent":                {`settings: {vmMemoryOverheadPercent: 0.1}`},
	"settings.disableDryRun":                          {`settings: {disableDryRun: true}`},
	"settings.preferencePolicy":                       {`settings: {preferencePolicy: Ignore}`},
	"settings.minValuesPolicy":                        {`settings: {minValuesPolicy: BestEffort}`},
	"settings.featureGates.nodeRepair":                {`settings: {featureGates: {nodeRepair: true}}`},
	"settings.featureGates.nodeOverlay":               {`settings: {featureGates: {nodeOverlay: true}}`},
	"settings.featureGates.reservedCapacity":          {`settings: {featureGates: {reservedCapacity: false}}`},
	"settings.featureGates.spotToSpotConsolidation":   {`settings: {featureGates: {spotToSpotConsolidation: true}}`},
	"settings.featureGates.capacityBuffer":            {`settings: {featureGates: {capacityBuffer: true}}`},
	"settings.featureGates.terminateFirstDrift":       {`settings: {featureGates: {terminateFirstDrift: true}}`},
	"settings.featureGates.terminateFirstRepair":      {`settings: {featureGates: {terminateFirstRepair: true}}`},
	"settings.featureGates.podDeletionCostManagement": {`settings: {featureGates: {podDeletionCostManagement: true}}`},
	"settings.legacyNodeRepair":                       {`settings: {legacyNodeRepair: true}`},
	"settings.schedulerConfig":                        {`settings: {schedulerConfig: {podTopologySpread: {defaultConstraints: [{maxSkew: 1}]}}}`},
	"settings.featureGates.staticCapacity":            {`settings: {featureGates: {staticCapacity: true}}`},
}

// Accepted without effect: for values of other charts, or because only the default can be served.
var withoutEffect = []string{"global", "webhook", "settings.clusterID", "settings.tags", "settings.ignoreDRARequests"}

// Every other value has an effect. A value that a template spells in another way than values.yaml would have no effect.
func TestEveryValueHasAnEffect(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(load(t, "karpenter").Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for _, path := range leaves(schema, "") {
		if slices.Contains(withoutEffect, path) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			documents := others[path]
			if len(documents) == 0 {
				t.Fatal("the test knows no other value than the default: add one")
			}
			base := append([]string{quickstart}, documents[:len(documents)-1]...)
			if path == "apiToken" || path == "apiTokenFile" || path == "credentialsSecretRef" {
				base = []string{quickstart} // without one of these values the chart renders nothing
			}
			without := mustRender(t, "karpenter", base...)
			with := mustRender(t, "karpenter", append([]string{quickstart}, documents...)...)
			if reflect.DeepEqual(without.objects, with.objects) {
				t.Errorf("%v changes nothing", documents[len(documents)-1])
			}
		})
	}
}
