{{/* Holds the verb that only Kwicket is given; who may do everything in the cluster holds it too. */}}
{{- define "kwicket.cel.operator" -}}
authorizer.group('kwicket.dev').resource('grants').check('grant').allowed()
{{- end }}

{{/*
Writes as Kwicket. An administrator holds every verb, and the tools of one (GitOps) apply manifests like an author; so
who also assigns tenants writes as Kwicket only under its field manager.
*/}}
{{- define "kwicket.cel.writesAsKwicket" -}}
{{ include "kwicket.cel.operator" . }} && (
  !authorizer.group('kwicket.dev').resource('tenants').check('assign').allowed() || request.options.?fieldManager.orValue('') == 'kwicket')
{{- end }}

{{- define "kwicket.cel.admin" -}}
authorizer.group('kwicket.dev').resource('tenants').check('assign').allowed()
{{- end }}

{{/* Whether the key `k` of a label is ours. */}}
{{- define "kwicket.cel.ours" -}}
(k.startsWith('kwicket.dev/') || k.startsWith('trait.kwicket.dev/'))
{{- end }}

{{/*
JSON patches by which our entries of the map at .path are again as they were: .now and .was name the two maps. A map
that is gone comes back with ours alone.
*/}}
{{- define "kwicket.cel.restored" -}}
({{ .now }} == {{ .was }} ? [] :
  {{ .now }}.transformList(k, v, k.startsWith('kwicket.dev/') && !(k in {{ .was }}),
    JSONPatch{op: 'remove', path: '{{ .path }}/' + jsonpatch.escapeKey(k)})
  + (size({{ .now }}) == 0 ? (!{{ .was }}.exists(k, k.startsWith('kwicket.dev/')) ? [] :
    [JSONPatch{op: 'add', path: '{{ .path }}', value: {{ .was }}.transformMap(k, v, k.startsWith('kwicket.dev/'), v)}])
    : {{ .was }}.transformList(k, v, k.startsWith('kwicket.dev/') && {{ .now }}[?k].orValue('') != v,
    JSONPatch{op: 'add', path: '{{ .path }}/' + jsonpatch.escapeKey(k), value: v})))
{{- end }}

{{/* JSON patches that put the token first in the environment of every container of .list, whose kind is .kind. */}}
{{- define "kwicket.cel.fenced" -}}
object.spec.template.spec.?{{ .kind }}.orValue([]).transformList(i, c, JSONPatch{op: 'add',
  path: '/spec/template/spec/{{ .kind }}/' + string(i) + '/env',
  value: [dyn(variables.token)] + c.?env.orValue([]).filter(e, e.name != 'KWICKET_TOKEN')})
{{- end }}

{{/* The same for an update, for containers whose stored environment begins with the token. */}}
{{- define "kwicket.cel.fencedAgain" -}}
object.spec.template.spec.?{{ .kind }}.orValue([]).transformList(i, c,
  oldObject.spec.template.spec.?{{ .kind }}[?i].?env[?0].?name.orValue('') == 'KWICKET_TOKEN',
  JSONPatch{op: 'add', path: '/spec/template/spec/{{ .kind }}/' + string(i) + '/env',
    value: [oldObject.spec.template.spec.{{ .kind }}[i].env[0]] + c.?env.orValue([]).filter(e, e.name != 'KWICKET_TOKEN')})
{{- end }}

{{/* Whether the owner `o` is of this kind: KIND of whatever group, or GROUP/KIND. */}}
{{- define "kwicket.cel.owner" -}}
{{- $parts := splitList "/" . -}}
o.kind == '{{ last $parts }}' {{- if eq (len $parts) 2 }} && o.apiVersion.startsWith('{{ first $parts }}/') {{- end }}
{{- end }}

{{/* Whether our entries of the map .now are those of the map .was. */}}
{{- define "kwicket.cel.keeps" -}}
({{ .now }} == {{ .was }} || (
  {{ .now }}.all(k, !k.startsWith('kwicket.dev/') || (k in {{ .was }} && {{ .was }}[k] == {{ .now }}[k]))
  && {{ .was }}.all(k, !k.startsWith('kwicket.dev/') || k in {{ .now }})))
{{- end }}

{{/* The same for labels, traits among them; the label .free may change. */}}
{{- define "kwicket.cel.keepsLabels" -}}
({{ .now }} == {{ .was }} || (
  {{ .now }}.all(k, !{{ include "kwicket.cel.ours" . }} || k == '{{ .free }}' || (k in {{ .was }} && {{ .was }}[k] == {{ .now }}[k]))
  && {{ .was }}.all(k, !{{ include "kwicket.cel.ours" . }} || k == '{{ .free }}' || k in {{ .now }})))
{{- end }}

{{/*
Whether a Job is small enough to be looked at entry by entry. The time of a CEL loop grows with the square of its
length: 30,000 labels took the API server 11 s. The token, where it stands as we put it, counts for nothing.
*/}}
{{- define "kwicket.cel.small" -}}
object.metadata.?labels.orValue({}).size() <= 256 && object.metadata.?annotations.orValue({}).size() <= 256
&& object.metadata.?ownerReferences.orValue([]).size() <= 64
&& object.spec.template.?metadata.?labels.orValue({}).size() <= 256
&& object.spec.template.?metadata.?annotations.orValue({}).size() <= 256
&& object.spec.template.spec.?containers.orValue([]).size() <= 256
&& object.spec.template.spec.?initContainers.orValue([]).size() <= 256
&& object.spec.template.spec.?containers.orValue([]).all(c, {{ include "kwicket.cel.fewVariables" . }})
&& object.spec.template.spec.?initContainers.orValue([]).all(c, {{ include "kwicket.cel.fewVariables" . }})
{{- end }}

{{- define "kwicket.cel.fewVariables" -}}
c.?env.orValue([]).size() <= 1000 || (c.env.size() == 1001 && c.env[0].name == 'KWICKET_TOKEN')
{{- end }}
