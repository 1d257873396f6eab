{{- define "kwicket.selector" -}}
app.kubernetes.io/name: kwicket
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kwicket.labels" -}}
{{ include "kwicket.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: kwicket
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "kwicket.mutates" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}true{{ end }}
{{- end }}
