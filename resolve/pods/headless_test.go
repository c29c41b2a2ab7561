package pods_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/pods"
)

// headless is a Service without an address, and a slice with so many pods.
func headless(n int, name string) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: on}\nspec: {clusterIP: None, ports: [{port: 80}]}\n---\n")
	b.WriteString("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: db-1, namespace: on, labels: {kubernetes.io/service-name: db}}\naddressType: IPv4\nports: [{port: 8080}]\nendpoints:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {addresses: [10.0.%d.%d], targetRef: {kind: Pod, name: %s%d}}\n", i/250, i%250+1, name, i)
	}
	return b.String()
}

// made are the names of what nobody wrote, and the notes on the Service.
func made(t *testing.T, docs string) (names []string, notes []api.Note) {
	t.Helper()
	objects, err := decode.Objects(api.NewCatalog(api.Types()...), "docs.yaml", []byte(docs))
	if err != nil {
		t.Fatal(err)
	}
	var changes []snapshot.Change
	for _, o := range objects {
		changes = append(changes, snapshot.Change{After: o})
	}
	s := pods.NewStage("")
	g, all, _ := s.Update(s.New(), changes)
	for _, ch := range all {
		names = append(names, ch.After.Name)
	}
	return names, s.NotesOn(g, api.Ref{Kind: api.KindService, Mesh: "default", Namespace: "on", Name: "db"})
}

// TestHeadless holds spec/kubernetes.md 3.6 on what its pods are called, and how many they may be.
func TestHeadless(t *testing.T) {
	t.Parallel()
	names, notes := made(t, headless(2, "db-"))
	if len(names) != 2 || !strings.HasPrefix(names[0], "db-0-") || !strings.HasPrefix(names[1], "db-1-") || len(names[0]) != len("db-0-")+10 || len(notes) > 0 {
		t.Errorf("%v %v", names, notes)
	}
	long := strings.Repeat("a", 60)
	names, _ = made(t, headless(2, long))
	if len(names) != 2 || len(names[0]) != 63 || names[0] == names[1] {
		t.Errorf("of long names: %v", names)
	}
	if names, notes = made(t, headless(pods.MaxInstances, "p")); len(names) != pods.MaxInstances || len(notes) > 0 {
		t.Errorf("%d and %v", len(names), notes)
	}
	if names, notes = made(t, headless(pods.MaxInstances+1, "p")); len(names) != 0 || len(notes) != 1 || notes[0].Code != "HeadlessTooLarge" {
		t.Errorf("%d and %v", len(names), notes)
	}
}
