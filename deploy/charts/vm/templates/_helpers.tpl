{{- define "vm.name" -}}
{{- .Values.name | default .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "vm.labels" -}}
app.kubernetes.io/name: {{ quote .Chart.Name }}
app.kubernetes.io/instance: {{ quote .Release.Name }}
app.kubernetes.io/managed-by: {{ quote .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What cloud-init in the guest is told; nothing where nothing is said, or where a Secret has it already. */}}
{{- define "vm.userData" -}}
{{- $ways := 0 -}}
{{- if or .Values.user .Values.sshKeys }}{{ $ways = add1 $ways }}{{ end -}}
{{- if .Values.userData }}{{ $ways = add1 $ways }}{{ end -}}
{{- if .Values.userDataSecret }}{{ $ways = add1 $ways }}{{ end -}}
{{- if gt (int $ways) 1 -}}
{{- fail "at most one of user with sshKeys, userData and userDataSecret is expected: put the keys into the user data" -}}
{{- end -}}
{{- if .Values.userData -}}
{{- .Values.userData -}}
{{- else if or .Values.user .Values.sshKeys -}}
#cloud-config
{{- with .Values.user }}
user: {{ toJson . }}
{{- end }}
{{- with .Values.sshKeys }}
ssh_authorized_keys:
{{- range . }}
- {{ trim . | toJson }}
{{- end }}
{{- end }}
{{ end -}}
{{- end -}}

{{- define "vm.secret" -}}
{{- if .Values.userDataSecret -}}
{{- .Values.userDataSecret -}}
{{- else if include "vm.userData" . -}}
{{- printf "%s-userdata" (include "vm.name" . | trunc 54 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}
