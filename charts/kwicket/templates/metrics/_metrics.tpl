{{/* What has metrics, by the names of the Deployments. */}}
{{- define "kwicket.measured" -}}
kwicket{{ if .Values.webhook.enabled }} kwicket-webhook{{ end }}
{{- end }}

{{/* The labels of what is about metrics, beside those of its Deployment: of (list $ NAME). */}}
{{- define "kwicket.metricsLabels" -}}
{{ include "kwicket.labelsOf" . }}
app.kubernetes.io/component: metrics
{{- end }}
