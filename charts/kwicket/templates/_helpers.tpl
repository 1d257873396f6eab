{{- define "kwicket.selector" -}}
{{ include "kwicket.selectorOf" (list . "kwicket") }}
{{- end }}

{{- define "kwicket.labels" -}}
{{ include "kwicket.labelsOf" (list . "kwicket") }}
{{- end }}

{{/* What tells the pods of one Deployment or Job from all others: of (list $ NAME). */}}
{{- define "kwicket.selectorOf" -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end }}

{{- define "kwicket.labelsOf" -}}
{{- $ := index . 0 }}
{{- include "kwicket.selectorOf" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
app.kubernetes.io/part-of: kwicket
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version }}
{{- end }}

{{/* Who suspends new Jobs: Policy, Webhook, or None where there is neither. */}}
{{- define "kwicket.mutation" -}}
{{- if ne .Values.mutation "Auto" }}{{ .Values.mutation }}
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}Policy
{{- else if .Values.webhook.enabled }}Webhook
{{- else }}None
{{- end }}
{{- end }}

{{- define "kwicket.mutates" -}}
{{- if eq (include "kwicket.mutation" .) "Policy" }}true{{ end }}
{{- end }}

{{/* Whether the chart's own Job makes and renews the webhook's certificate. */}}
{{- define "kwicket.certifies" -}}
{{- if and .Values.webhook.enabled (not .Values.certificates.certManager.enabled) }}true{{ end }}
{{- end }}

{{- define "kwicket.image" -}}
{{- with .Values.image -}}
{{- $tag := .tag | default (ternary "" $.Chart.AppVersion (ne .digest "")) }}
{{- .repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* The container's fields that all pods share. */}}
{{- define "kwicket.container" -}}
image: {{ include "kwicket.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* The pod's fields that all pods share; the user is the image's. */}}
{{- define "kwicket.pod" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where the pods of a Deployment go: of (list $ NAME VALUES). */}}
{{- define "kwicket.placement" -}}
{{- $values := index . 2 -}}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "kwicket.selectorOf" $ | nindent 8 }}
  {{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "kwicket.probes" -}}
livenessProbe:
  httpGet:
    path: /healthz
    port: probes
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* Replicas come and go one at a time; one alone ends before the next begins. */}}
{{- define "kwicket.strategy" -}}
{{- if gt (int .) 1 -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: 1
  maxUnavailable: 1
{{- else -}}
type: Recreate
{{- end }}
{{- end }}

{{/* A PodDisruptionBudget: of (list $ NAME VALUES). */}}
{{- define "kwicket.budget" -}}
{{- $ := index . 0 }}
{{- $values := index . 2 }}
{{- if and $values.podDisruptionBudget (gt (int $values.replicas) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ index . 1 }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "kwicket.labelsOf" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "kwicket.selectorOf" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* A ServiceAccount: of (list $ NAME). Pods that need its token say so themselves. */}}
{{- define "kwicket.account" -}}
{{- $ := index . 0 }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ index . 1 }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "kwicket.labelsOf" . | nindent 4 }}
automountServiceAccountToken: false
{{- end }}

{{/* The binding of the ClusterRole NAME to the ServiceAccount NAME: of (list $ NAME). */}}
{{- define "kwicket.clusterBinding" -}}
{{- $ := index . 0 }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ index . 1 }}
  labels:
    {{- include "kwicket.labelsOf" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ index . 1 }}
subjects:
  - kind: ServiceAccount
    name: {{ index . 1 }}
    namespace: {{ $.Release.Namespace }}
{{- end }}

{{/* A NetworkPolicy: of (list $ NAME PORT); PORT is the only one that is open, nothing if empty. */}}
{{- define "kwicket.network" -}}
{{- $ := index . 0 }}
{{- if $.Values.networkPolicy.enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ index . 1 }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "kwicket.labelsOf" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "kwicket.selectorOf" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- with index . 2 }}
  ingress:
    - ports:
        - {port: {{ . }}, protocol: TCP}
      {{- with $.Values.networkPolicy.webhook.cidrs }}
      from:
        {{- range . }}
        - ipBlock: {cidr: {{ . | quote }}}
        {{- end }}
      {{- end }}
  {{- end }}
  egress:
    - ports:
        {{- range $.Values.networkPolicy.apiServer.ports }}
        - {port: {{ . }}, protocol: TCP}
        {{- end }}
      {{- with $.Values.networkPolicy.apiServer.cidrs }}
      to:
        {{- range . }}
        - ipBlock: {cidr: {{ . | quote }}}
        {{- end }}
      {{- end }}
{{- end }}
{{- end }}

{{/* The Secret that has the URL of PostgreSQL; empty where Pools are kept in Ledger objects. */}}
{{- define "kwicket.postgres" -}}
{{- if .Values.ledger.postgres.url }}kwicket-postgres{{ else }}{{ .Values.ledger.postgres.secret }}{{ end }}
{{- end }}
