package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/resolve"
)

// cluster is documents of one namespace: so many Services with so many pods each, whose
// endpoints stand in slices.
func cluster(services, each int) string {
	var b strings.Builder
	for s := range services {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d, namespace: on}\nspec: {clusterIP: 10.96.0.%d, selector: {app: s%d}, ports: [{name: http, port: 80, targetPort: 8080}]}\n", s, s+1, s)
		fmt.Fprintf(&b, "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s%d-1, namespace: on, labels: {kubernetes.io/service-name: s%d}}\naddressType: IPv4\nports: [{name: http, port: 8080}]\nendpoints:\n", s, s)
		for p := range each {
			fmt.Fprintf(&b, "- {addresses: [10.%d.0.%d], targetRef: {kind: Pod, name: s%d-%d, uid: u-%d-%d}}\n", s, p+1, s, p, s, p)
		}
		for p := range each {
			b.WriteString("---" + podOf(s, p, true, ""))
		}
	}
	return b.String()
}

func podOf(s, p int, ready bool, label string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: s%d-%d, namespace: on, uid: u-%d-%d, labels: {app: s%d%s}}
spec:
  initContainers: [{name: weft-init, args: []}, {name: weft-sidecar, restartPolicy: Always, env: [{name: WEFT_MESH, value: default}]}]
  containers: [{name: app, ports: [{containerPort: 8080}]}]
status: {phase: Running, podIP: 10.%d.0.%d, initContainerStatuses: [{name: weft-sidecar, ready: true}], containerStatuses: [{name: app, ready: %t}]}
`, s, p, s, p, s, label, s, p+1, ready)
}

// changed is the model after documents, and whom that concerned.
func (c *composition) changed(t *testing.T, m *resolve.Model, docs string) (*resolve.Model, []string) {
	t.Helper()
	objects, err := decode.Objects(c.catalog, "docs.yaml", []byte(docs))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	var changes []snapshot.Change
	for _, o := range objects {
		before, _ := m.Written().Get(o.Ref)
		changes = append(changes, snapshot.Change{Before: before, After: o})
	}
	next, affected := m.Update(m.Written().With(m.Written().Revision()+1, changes), changes)
	var names []string
	for _, r := range affected.Dataplanes {
		names = append(names, r.FullName())
	}
	return next, names
}

// TestPodsThatChangeConcernWhoReadsThem: spec/kubernetes.md 2.14 and 3.3.
func TestPodsThatChangeConcernWhoReadsThem(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	base := resolvetest.Compile(t, "cluster.yaml", []byte(cluster(3, 4)))
	if n := base.Snapshot().CountOfKind(api.KindDataplane); n != 12 {
		t.Fatalf("%d dataplanes", n)
	}
	m, got := c.changed(t, base, podOf(1, 2, false, ""))
	if !slices.Equal(got, []string{"s1-2.on"}) {
		t.Errorf("a pod that is not ready concerns %v", got)
	}
	if m, got = c.changed(t, m, podOf(1, 2, false, ", team: x")); len(got) != 12 {
		t.Errorf("a label of a pod, which is a tag of an endpoint, concerns %v", got)
	}
	if _, got = c.changed(t, m, strings.Replace(podOf(1, 2, false, ", team: x"), "uid:", "annotations: {x: y}, resourceVersion: \"7\", uid:", 1)); len(got) != 0 {
		t.Errorf("what nobody reads concerns %v", got)
	}
	bare := "apiVersion: v1\nkind: Pod\nmetadata: {name: bare, namespace: on, uid: u}\nspec: {containers: [{name: app}]}\n"
	if m, got = c.changed(t, base, bare); len(got) != 0 {
		t.Errorf("a pod without a sidecar concerns %v", got)
	}
	if n := m.Snapshot().CountOfKind(api.KindDataplane); n != 12 {
		t.Errorf("%d dataplanes", n)
	}
	if _, got = c.changed(t, base, "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {x: y}}\n"); len(got) != 0 {
		t.Errorf("a node concerns %v", got)
	}
}

// TestPodsShareWhatTheyHaveInCommon: labels and tags of the pods of a Deployment are one map.
func TestPodsShareWhatTheyHaveInCommon(t *testing.T) {
	t.Parallel()
	m := resolvetest.Compile(t, "cluster.yaml", []byte(cluster(1, 2)))
	var labels, tags []string
	for o := range m.Snapshot().OfKind(api.KindDataplane) {
		labels = append(labels, fmt.Sprintf("%p", o.Labels))
		tags = append(tags, fmt.Sprintf("%p", o.Spec.(*api.Dataplane).Networking.Inbound[0].Tags))
	}
	if labels[0] != labels[1] || tags[0] != tags[1] {
		t.Errorf("labels %v, tags %v", labels, tags)
	}
}

// TestWrittenDataplaneOfAPodsName: the pod's own holds while there is the pod, and the
// document is told.
func TestWrittenDataplaneOfAPodsName(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	written := "type: Dataplane\nmesh: default\nnamespace: on\nname: s0-0\nnetworking: {address: 192.0.2.7, inbound: [{port: 1, tags: {kuma.io/service: x}}]}\n"
	base := resolvetest.Compile(t, "cluster.yaml", []byte(cluster(1, 1)))
	m, _ := c.changed(t, base, written)
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Namespace: "on", Name: "s0-0"}
	address := func(m *resolve.Model) string {
		r, ok := m.Dataplane(ref)
		if !ok {
			return ""
		}
		return r.Dataplane.Spec.(*api.Dataplane).Networking.Address
	}
	if address(m) != "10.0.0.1" {
		t.Errorf("%s holds", address(m))
	}
	notes := m.Reader(nil).NotesOn(ref)
	if len(notes) != 1 || notes[0].Code != api.CodeConflicted {
		t.Errorf("notes: %+v", notes)
	}
	pod, _ := m.Written().Get(api.Ref{Kind: api.KindPod, Mesh: "default", Namespace: "on", Name: "s0-0"})
	gone := []snapshot.Change{{Before: pod}}
	m, affected := m.Update(m.Written().With(9, gone), gone)
	if address(m) != "192.0.2.7" || len(affected.Dataplanes) != 1 {
		t.Errorf("%s holds once the pod is gone; affected %v", address(m), affected.Dataplanes)
	}
}
