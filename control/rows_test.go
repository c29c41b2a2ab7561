package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/inject"
)

// at is the part of an object below keys of maps, and names of members of lists.
func at(object any, path ...string) any {
	for _, key := range path {
		switch of := object.(type) {
		case map[string]any:
			object = of[key]
		case []any:
			object = nil
			for _, item := range of {
				if m, _ := item.(map[string]any); m["name"] == key {
					object = m
				}
			}
		default:
			return nil
		}
	}
	return object
}

// line is a part of an object on one line.
func line(object any, path ...string) string { return fmt.Sprint(at(object, path...)) }

const probed = `serviceAccountName: default, containers: [{name: app, image: app, ports: [{name: web, containerPort: 8080}], readinessProbe: {httpGet: {port: web, scheme: HTTPS}, timeoutSeconds: 4}}]`

// TestAPIServerRows are rows of spec/kubernetes.md 8 by a control plane as `weft serve` puts
// it together; those of the handler alone are beside it.
func TestAPIServerRows(t *testing.T) {
	t.Parallel()
	a := admitting(t, nil)
	for name, labels := range map[string]string{"strict": "kuma.io/sidecar-injection: enabled, pod-security.kubernetes.io/enforce: restricted", "odd": "kuma.io/sidecar-injection: \"On\""} {
		create(t, a.Cluster, "/api/v1/namespaces", fmt.Sprintf(`metadata: {name: %s, labels: {%s}}`, name, labels))
	}
	for row, check := range map[string]func(t *testing.T){
		"11": a.completes, "13": a.invalidNamespaceLabel, "17": a.restricted, "19": a.ofJob, "21 to 23": a.probes, "26": a.gateway, "27": a.dryRun,
		"37": a.computedLabels, "51": a.causes, "a namespace of a moment ago": a.fresh, "a generator of names": a.generator,
	} {
		t.Run(row, check)
	}
	a.T = t
	t.Run("the corpus", a.corpus)
	t.Run("4", a.down) // last: nobody answers any more
}

// made is a pod that the API server takes.
func (a *admitted) made(t *testing.T, namespace string, pod map[string]any) map[string]any {
	t.Helper()
	status, got := a.Send(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", pod)
	if status != http.StatusCreated {
		t.Fatalf("%d %v", status, got["message"])
	}
	return got
}

// completes: of a pod that was injected and got one more container only its probe changes.
func (a *admitted) completes(t *testing.T) {
	first := a.made(t, "on", a.pod("eleven", ""))
	late := kubetest.Document(t, `{name: late, image: late, livenessProbe: {tcpSocket: {port: 7000}}}`)
	next := func(name string) map[string]any {
		spec := at(first, "spec").(map[string]any)
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": map[string]any{"name": name, "labels": at(first, "metadata", "labels"), "annotations": at(first, "metadata", "annotations")}}
	}
	second := next("eleven-late")
	spec := second["spec"].(map[string]any)
	spec["containers"] = append(spec["containers"].([]any), late)
	got := a.made(t, "on", second)
	if probe := line(got, "spec", "containers", "late", "livenessProbe", "httpGet"); !strings.Contains(probe, "/probe/late/liveness") || !strings.Contains(probe, "9001") {
		t.Errorf("the probe is %s", probe)
	}
	for _, part := range [][]string{{"spec", "containers", "app"}, {"spec", "initContainers", "weft-init"}, {"spec", "volumes"}, {"metadata", "annotations"}, {"metadata", "labels"}} {
		if diff := cmp.Diff(at(first, part...), at(got, part...)); diff != "" {
			t.Errorf("%v changed: %s", part, diff)
		}
	}
}

// invalidNamespaceLabel: a value that is none injects nothing, and nobody is asked.
func (a *admitted) invalidNamespaceLabel(t *testing.T) {
	if got := a.made(t, "odd", a.pod("thirteen", "")); len(containers(got, "initContainers")) != 0 {
		t.Errorf("injected: %v", containers(got, "initContainers"))
	}
}

// restricted: PodSecurity refuses weft-init, which the warning explains; without redirection
// the pod passes.
func (a *admitted) restricted(t *testing.T) {
	const conforming = `serviceAccountName: default, securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
containers: [{name: app, image: app, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]`
	status, got, warnings := a.SendWarned(t, http.MethodPost, "/api/v1/namespaces/strict/pods", a.podOf("seventeen", "", conforming))
	if said := fmt.Sprint(warnings); status != http.StatusForbidden || !strings.Contains(fmt.Sprint(got["message"]), "PodSecurity") || !strings.Contains(said, "forbids the NET_ADMIN of weft-init") {
		t.Errorf("mode init: %d %v, warned %s", status, got["message"], said)
	}
	bare := a.podOf("seventeen", "annotations: {weft.io/interception-mode: none}", conforming)
	if got := a.made(t, "strict", bare); strings.Join(containers(got, "initContainers"), " ") != "weft-sidecar" {
		t.Errorf("mode none: %v", containers(got, "initContainers"))
	}
}

// ofJob: a classic sidecar would keep a Job from ending.
func (a *admitted) ofJob(t *testing.T) {
	pod := a.podOf("nineteen", `annotations: {weft.io/native-sidecar: "false"}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u, controller: true}]`,
		`serviceAccountName: default, restartPolicy: Never, containers: [{name: app, image: app}]`)
	if got := a.made(t, "on", pod); strings.Join(containers(got, "initContainers"), " ") != "weft-init weft-sidecar" || len(containers(got, "containers")) != 1 {
		t.Errorf("%v", got["spec"])
	}
}

// probes: what can be asked elsewhere is, with its timings; what cannot is kept, and all where
// the annotation says so.
func (a *admitted) probes(t *testing.T) {
	got := a.made(t, "on", a.podOf("twentyone", "", probed))
	probe := line(got, "spec", "containers", "app", "readinessProbe")
	if !strings.Contains(probe, "path:/probe/app/readiness port:9001") || !strings.Contains(probe, "timeoutSeconds:4") {
		t.Errorf("row 21: %s", probe)
	}
	if original := line(got, "spec", "initContainers", "weft-sidecar", "env", "WEFT_PROBES", "value"); !strings.Contains(original, `"scheme":"HTTPS","port":8080`) {
		t.Errorf("row 21: %s", original)
	}
	got = a.made(t, "on", a.podOf("twentytwo", "", `serviceAccountName: default, containers: [{name: app, image: app, livenessProbe: {exec: {command: ["true"]}},
readinessProbe: {grpc: {port: 50051}}, startupProbe: {httpGet: {host: example.org, port: 80}}}]`))
	for probe, want := range map[string]string{"livenessProbe": "command:[true]", "readinessProbe": "path:/probe/app/readiness", "startupProbe": "host:example.org"} {
		if said := line(got, "spec", "containers", "app", probe); !strings.Contains(said, want) {
			t.Errorf("row 22: %s is %s", probe, said)
		}
	}
	got = a.made(t, "on", a.podOf("twentythree", `annotations: {kuma.io/application-probe-proxy-port: "0"}`, probed))
	if said := line(got, "spec", "containers", "app", "readinessProbe", "httpGet", "port"); said != "web" {
		t.Errorf("row 23: port %s", said)
	}
}

// gateway: what comes in is not redirected, and probes are asked of the application.
func (a *admitted) gateway(t *testing.T) {
	got := a.made(t, "on", a.podOf("twentysix", "annotations: {kuma.io/gateway: enabled}", probed))
	if args := line(got, "spec", "initContainers", "weft-init", "args"); !strings.Contains(args, "--redirect-inbound=false") {
		t.Errorf("%s", args)
	}
	if said := line(got, "spec", "containers", "app", "readinessProbe", "httpGet", "port"); said != "web" {
		t.Errorf("its probe asks port %s", said)
	}
}

// dryRun is the same patch, and nothing besides.
func (a *admitted) dryRun(t *testing.T) {
	status, dry := a.Send(t, http.MethodPost, podsOfOn+"?dryRun=All", a.pod("twentyseven", ""))
	if status != http.StatusCreated {
		t.Fatalf("%d %v", status, dry["message"])
	}
	made := a.made(t, "on", a.pod("twentyseven", ""))
	for _, part := range [][]string{{"spec"}, {"metadata", "annotations"}, {"metadata", "labels"}} {
		if diff := cmp.Diff(at(dry, part...), at(made, part...)); diff != "" {
			t.Errorf("%v: %s", part, diff)
		}
	}
	if _, events := a.Send(t, http.MethodGet, "/api/v1/namespaces/on/events", nil); len(events["items"].([]any)) != 0 {
		t.Errorf("events: %v", events["items"])
	}
}

// computedLabels: one that follows from the pod is not set by anybody, another wins in the
// Dataplane.
func (a *admitted) computedLabels(t *testing.T) {
	status, got := a.Send(t, http.MethodPost, podsOfOn, a.pod("thirtyseven", "labels: {kuma.io/workload: x}"))
	if status != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(got["message"]), "metadata.labels[kuma.io/workload]: ") {
		t.Errorf("%d %v", status, got["message"])
	}
	made := a.made(t, "on", a.pod("thirtyseven", "labels: {k8s.kuma.io/service-account: root}"))
	made["status"] = kubetest.Document(t, `{phase: Running, podIP: 198.51.100.37, podIPs: [{ip: 198.51.100.37}]}`)
	if status, got := a.Send(t, http.MethodPut, podsOfOn+"/thirtyseven/status", made); status != http.StatusOK {
		t.Fatalf("%d %v", status, got["message"])
	}
	eventually(t, "the Dataplane is there", func() bool {
		code, text := a.plane.call(http.MethodGet, "/meshes/default/dataplanes/thirtyseven.on", "")
		return code == http.StatusOK && strings.Contains(text, `"k8s.kuma.io/service-account":"default"`)
	})
}

// causes are all mistakes of a document, each with its field.
func (a *admitted) causes(t *testing.T) {
	wrong := kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: wrong}, spec: {to: [{targetRef: {kind: MeshService, name: web},
rules: [{matches: [{path: {type: RegularExpression, value: "a("}}], default: {}}, {matches: [{path: {type: RegularExpression, value: "b("}}], default: {}}]}]}}`)
	status, got := a.Send(t, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/on/meshhttproutes", wrong)
	list, _ := at(got, "details", "causes").([]any)
	if status != http.StatusUnprocessableEntity || got["reason"] != "Invalid" || len(list) != 2 {
		t.Fatalf("%d %v", status, got)
	}
	for i, c := range list {
		if field := line(c, "field"); !strings.HasPrefix(field, fmt.Sprintf("spec.to[0].rules[%d].matches[0].path", i)) {
			t.Errorf("cause %d is at %s", i, field)
		}
	}
}

// generator: operators create HostnameGenerators in their namespace, and nobody elsewhere.
func (a *admitted) generator(t *testing.T) {
	of := kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: HostnameGenerator, metadata: {name: g}, spec: {selector: {meshService: {}}, template: "{{ .DisplayName }}.mesh.local"}}`)
	for namespace, want := range map[string]int{"weft-system": http.StatusCreated, "on": http.StatusForbidden} {
		if status, got := a.Send(t, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/"+namespace+"/hostnamegenerators", of); status != want {
			t.Errorf("in %s: %d %v", namespace, status, got["message"])
		}
	}
}

// fresh: pods of a namespace that was made a moment ago have sidecars all the same.
func (a *admitted) fresh(t *testing.T) {
	for i := range 5 {
		name := fmt.Sprintf("fresh-%d", i)
		create(t, a.Cluster, "/api/v1/namespaces", fmt.Sprintf(`metadata: {name: %s, labels: {%s: enabled}}`, name, inject.LabelInjection))
		if got := a.made(t, name, a.pod("p", "")); len(containers(got, "initContainers")) != 2 {
			t.Errorf("%s: %v", name, containers(got, "initContainers"))
		}
	}
}

// down: those who asked for sidecars wait, all others go on.
func (a *admitted) down(t *testing.T) {
	a.plane.stop()
	for name, c := range map[string]struct {
		namespace, meta string
		status          int
	}{
		"in on":          {"on", "", http.StatusInternalServerError},
		"disabled in on": {"on", "labels: {kuma.io/sidecar-injection: disabled}", http.StatusCreated},
		"in bare":        {"bare", "", http.StatusCreated},
	} {
		status, got := a.Send(t, http.MethodPost, "/api/v1/namespaces/"+c.namespace+"/pods", a.pod("four-"+c.namespace+fmt.Sprint(len(c.meta)), c.meta))
		if status != c.status || status >= 400 && !strings.Contains(fmt.Sprint(got["message"]), inject.HookNamespace) {
			t.Errorf("%s: %d %v", name, status, got["message"])
		}
	}
}
