{{/* What a range of addresses looks like, of IPv4 and of IPv6. */}}
{{- define "kwicket.cidr" -}}
{{- $byte := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])" -}}
{{- $four := "[0-9a-fA-F]{1,4}" -}}
{{- $sixes := list (printf "(%s:){7}%s" $four $four) (printf "(%s:){1,7}:" $four) (printf ":(:%s){1,7}" $four) "::" -}}
{{- range $left := untilStep 1 7 1 -}}
{{- $sixes = append $sixes (printf "(%s:){%d}(:%s){1,%d}" $four $left $four (sub 7 $left)) -}}
{{- end -}}
^({{ $byte }}([.]{{ $byte }}){3}/(3[0-2]|[12]?[0-9])|({{ join "|" $sixes }})/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$
{{- end }}

{{/* Why Kubernetes would refuse this toleration; empty if it would not. */}}
{{- define "kwicket.tolerationFault" -}}
{{- $operator := .operator | default "Equal" -}}
{{- if and (not .key) (ne $operator "Exists") -}}
which names no key: write one, or operator: Exists alone, which tolerates every taint
{{- else if and .value (eq $operator "Exists") -}}
whose operator Exists compares no value: leave value out, or write operator: Equal
{{- else if and (has $operator (list "Lt" "Gt")) (not (regexMatch "^(0|-?[1-9][0-9]*)$" (.value | default ""))) -}}
whose operator compares whole numbers: write one as its value
{{- else if and (hasKey . "tolerationSeconds") (ne (.effect | default "") "NoExecute") -}}
whose tolerationSeconds mean something for effect: NoExecute only: write it, or leave them out
{{- end -}}
{{- end }}

{{/* A quantity of Kubernetes as a plain number. */}}
{{- define "kwicket.quantity" -}}
{{- $units := dict "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- range $power, $unit := list "" "Ki" "Mi" "Gi" "Ti" "Pi" "Ei" -}}
{{- $_ := set $units $unit (index (list 1.0 1024.0 1048576.0 1073741824.0 1099511627776.0 1125899906842624.0 1152921504606846976.0) $power) -}}
{{- end -}}
{{- $text := toString . -}}
{{- $unit := regexFind "([mkMGTPE]|[KMGTPE]i)$" $text -}}
{{- mulf (trimSuffix $unit $text | float64) (index $units $unit) -}}
{{- end }}
