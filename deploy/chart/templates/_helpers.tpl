{{- /* All are given a dict: root, name, and role, which is one of roles or jobs. */}}

{{- define "cs.labels" -}}
app.kubernetes.io/name: contact-search
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "cs.user" -}}
{{ if eq (first .role.command) "stage" }}{{ join "-" .role.command }}{{ else }}{{ first .role.command }}{{ end }}
{{- end }}

{{- define "cs.secrets" -}}
{{- range .role.groups }}
{{- range (index $.root.Values.groups .).secrets }}
- secret: {name: {{ . | quote }}}
{{- end }}
{{- if and (eq . "kafka") $.root.Values.kafkaUsers }}
- secret: {name: {{ printf "%s%s" $.root.Values.kafkaUsers (include "cs.user" $) | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "cs.env" -}}
{{- $env := dict "CS_ADMIN_HOST" "0.0.0.0" }}
{{- range .role.groups }}
{{- $env = mergeOverwrite $env (deepCopy (index $.root.Values.groups .).settings) }}
{{- if and (eq . "kafka") $.root.Values.kafkaUsers }}
{{- $_ := set $env "CS_KAFKA_USERNAME" (printf "cs-%s" (include "cs.user" $)) }}
{{- $_ := set $env "CS_KAFKA_PASSWORD_FILE" "/run/secrets/kafka_password" }}
{{- end }}
{{- end }}
{{- $env = mergeOverwrite $env .root.Values.settings (.role.settings | default dict) }}
{{- range $name, $group := dict "CS_POSTGRES" "service" "CS_KEYS_POSTGRES" "service" "CS_STAGES_POSTGRES" "stages" "CS_KAFKA" "kafka" }}
{{- if and (has $group $.role.groups) (not (get $env $name)) }}
{{- fail (printf "set groups.%s.settings.%s, as the files in values/ do" $group $name) }}
{{- end }}
{{- end }}
{{- range $name, $value := $env }}
- {name: {{ $name }}, value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}}
{{- end }}
{{- end }}

{{- define "cs.image" -}}
{{ .root.Values.image.repository }}:{{ .role.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- /* The pod of a role or a job. `probes` is there for a role. */}}
{{- define "cs.pod" -}}
automountServiceAccountToken: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
# Kubernetes opens the files of a Secret to the pod's group, and a password file of PostgreSQL
# that a group may read is refused: each pod has copies that its account alone may read.
initContainers:
  - name: secrets
    image: {{ include "cs.image" . | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command: [sh, -c, "umask 377; find -L /run/mounted -maxdepth 1 -type f -exec cp -f -t /run/secrets {} +"]
    securityContext: &closed
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    resources: &resources {{ .role.resources | default .root.Values.resources | toJson }}
    volumeMounts:
      - {name: mounted, mountPath: /run/mounted, readOnly: true}
      - {name: secrets, mountPath: /run/secrets}
containers:
  - name: {{ .name }}
    image: {{ include "cs.image" . | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{ toJson .role.command }}
    env: {{- include "cs.env" . | trim | nindent 6 }}
    securityContext: *closed
    resources: *resources
    volumeMounts:
      - {name: secrets, mountPath: /run/secrets, readOnly: true}
      - {name: tmp, mountPath: /tmp}
    {{- if .probes }}
    ports:
      {{- if eq .name "api" }}
      - {name: api, containerPort: 8080}
      {{- end }}
      - {name: admin, containerPort: 8081}
    # At the start a role compares versions and may wait for its databases.
    startupProbe: {httpGet: {path: /healthz, port: admin}, periodSeconds: 5, failureThreshold: 60}
    livenessProbe: {httpGet: {path: /healthz, port: admin}, periodSeconds: 10, timeoutSeconds: 5}
    readinessProbe: {httpGet: {path: /readyz, port: admin}, periodSeconds: 5, timeoutSeconds: 5}
    {{- end }}
volumes:
  - name: mounted
    projected:
      defaultMode: 0440
      sources: {{- include "cs.secrets" . | trim | default "[]" | nindent 8 }}
  - {name: secrets, emptyDir: {medium: Memory, sizeLimit: 4Mi}}
  - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
{{- end }}
