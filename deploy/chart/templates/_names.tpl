{{- define "weft.labels" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/component: control-plane
app.kubernetes.io/part-of: weft
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "weft.selector" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/component: control-plane
{{- end -}}

{{- /* The namespaces of the system: that of the control plane first. */ -}}
{{- define "weft.system" -}}
{{ .Release.Namespace }}
{{- range .Values.systemNamespaces }}{{ if ne . $.Release.Namespace }},{{ . }}{{ end }}{{ end }}
{{- end -}}

{{- /* What injection reads: package sidecar/inject. JSON is YAML, and the same text from every engine. */ -}}
{{- define "weft.injection" -}}
systemNamespaces: [{{ include "weft.system" . }}]
injection: {{ toJson .Values.injection }}
sidecar:
  image: {{ .Values.sidecar.image | default (printf "weftmesh/weft-sidecar:%s" .Chart.AppVersion) }}
{{- range $name, $value := omit .Values.sidecar "image" }}
  {{ $name }}: {{ toJson $value }}
{{- end }}
interception: {{ toJson .Values.interception }}
dns: {{ toJson .Values.dns }}
spire: {{ toJson .Values.spire }}
{{- end -}}
