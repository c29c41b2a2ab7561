package control_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/inject"
)

// TestAPIServerHearsOfBarePods are rows 13 and 28 of spec/kubernetes.md 8: pods that should
// have a sidecar and have none stand in events at what they belong to, in the metrics and
// among the problems; a replica that leads later writes no second event, and nothing is
// deleted.
func TestAPIServerHearsOfBarePods(t *testing.T) {
	t.Parallel()
	a := &admitted{T: t, Cluster: kubetest.Start(t)}
	for name, label := range map[string]string{"on": "enabled", "off": "disabled", "odd": "On", "weft-system": "disabled"} {
		create(t, a.Cluster, "/api/v1/namespaces", fmt.Sprintf(`metadata: {name: %q, labels: {%s: %q}}`, name, inject.LabelInjection, label))
	}
	for _, d := range crd.All(world.Catalog(), "dev") {
		if status, got := a.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	const uid = "9d0c3f6a-6d0e-4f59-9d4e-0c1a2b3c4d5e"
	create(t, a.Cluster, "/apis/apps/v1/namespaces/on/replicasets", fmt.Sprintf(`metadata: {name: web-5d, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: %s, controller: true}]}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: app}]}}}`, uid))
	replicas := read(t, a.Cluster, "/apis/apps/v1/namespaces/on/replicasets/web-5d")
	for _, name := range []string{"web-1", "web-2"} {
		a.made(t, "on", a.pod(name, fmt.Sprintf("ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d, uid: %s, controller: true}]", field(replicas, "metadata", "uid"))))
	}
	a.made(t, "on", a.pod("none", "labels: {kuma.io/sidecar-injection: disabled}"))
	a.made(t, "odd", a.pod("none", ""))
	time.Sleep(2 * time.Second) // times of creation are whole seconds
	a.cfg = clustered(t, a.URL, a.Cluster)
	a.cfg.Namespace, a.cfg.Webhooks = "weft-system", "127.0.0.1:0"
	log := &lines{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log)
		}
	})
	a.plane = startLogging(t, a.cfg, slog.New(slog.NewTextHandler(log, nil)))
	a.register()
	a.asked()
	events := func(namespace string) (out []string) {
		for _, e := range read(t, a.Cluster, "/apis/events.k8s.io/v1/namespaces/"+namespace+"/events")["items"].([]any) {
			out = append(out, fmt.Sprint(field(e, "reason"), " ", field(e, "regarding", "kind"), "/", field(e, "regarding", "name"), " ", field(e, "regarding", "uid"), " ", field(e, "note")))
		}
		return out
	}
	told := func() bool {
		e := events("on")
		return len(e) == 1 && strings.HasPrefix(e[0], "NotInjected Deployment/web "+uid+" CreatedBeforeInjector: 2 of its pods, such as web-1, have no sidecar") && strings.Contains(e[0], "kubectl rollout restart deployment/web -n on")
	}
	eventually(t, "row 28: there is one event, at the Deployment", told)
	eventually(t, "row 13: there is an event at the namespace", func() bool {
		e := events("odd")
		return len(e) == 1 && strings.HasPrefix(e[0], "InvalidNamespaceLabel Namespace/odd ") && strings.Contains(e[0], `metadata.labels[kuma.io/sidecar-injection]: "On" is no answer`)
	})
	reported := func(pods int) func() bool {
		return func() bool {
			_, metrics := a.plane.call(http.MethodGet, "/metrics", "")
			_, text := a.plane.call(http.MethodGet, "/_problems", "")
			return strings.Contains(metrics, fmt.Sprintf("\nweft_bare_pods %d\n", pods)) && strings.Contains(text, `"NotInjected"`) == (pods > 0) && strings.Contains(text, `"InvalidNamespaceLabel"`)
		}
	}
	eventually(t, "they are counted, and among the problems", reported(2))
	a.plane.stop()
	next := a.cfg
	next.DataDir = t.TempDir()
	a.plane = start(t, next)
	a.register()
	eventually(t, "the next replica counts them", reported(2))
	eventually(t, "the next replica leads", a.plane.leads)
	remove(t, a.Cluster, "/api/v1/namespaces/on/pods/web-1?gracePeriodSeconds=0")
	eventually(t, "one is left", reported(1))
	if !told() {
		t.Errorf("events: %q", events("on"))
	}
	remove(t, a.Cluster, "/api/v1/namespaces/on/pods/web-2?gracePeriodSeconds=0")
	eventually(t, "none is left", reported(0))
	if got := listed(t, a.Cluster, podsOfOn); got != "none" {
		t.Errorf("pods of namespace on: %s", got)
	}
}
