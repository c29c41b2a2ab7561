package pods_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/pods"
)

// many is so many pods of a Service, with a slice that names all of them.
func many(n int) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(service("a", "{port: 80, targetPort: 8080}"), "---\n"))
	b.WriteString("---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a-1, namespace: on, labels: {kubernetes.io/service-name: a}}\naddressType: IPv4\nports: [{port: 8080}]\nendpoints:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {addresses: [10.0.0.%d], targetRef: {kind: Pod, name: p%d, uid: u-%d}}\n", i+1, i, i)
	}
	for i := range n {
		b.WriteString("---" + numbered(i, pod("")))
	}
	return b.String()
}

func numbered(i int, pod string) string {
	return strings.NewReplacer("name: p,", fmt.Sprintf("name: p%d,", i), "u-1", fmt.Sprintf("u-%d", i), "10.0.0.1,", fmt.Sprintf("10.0.0.%d,", i+1)).Replace(pod)
}

// TestCostFollowsTheChange: what runs for a change of one document does not depend on how
// many pods there are (spec/kubernetes.md 2.14).
func TestCostFollowsTheChange(t *testing.T) {
	t.Parallel()
	s := pods.NewStage("z")
	graph := func(docs string) (*derive.Graph, map[string]*api.Object) {
		objects, err := decode.Objects(api.NewCatalog(api.Types()...), "docs.yaml", []byte(docs))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		byName, changes := map[string]*api.Object{}, []snapshot.Change{}
		for _, o := range objects {
			byName[o.Kind+"/"+o.Name] = o
			changes = append(changes, snapshot.Change{After: o})
		}
		g, _, _ := s.Update(s.New(), changes)
		return g, byName
	}
	g, there := graph(many(100))
	_, unready := graph(numbered(7, strings.Replace(pod(""), "ready: true", "ready: false", 1)))
	slice := *there["EndpointSlice/a-1"]
	spec := *slice.Spec.(*api.EndpointSlice)
	spec.Endpoints = append([]api.SliceAddress(nil), spec.Endpoints...)
	no := false
	spec.Endpoints[7].Conditions = &api.SliceConditions{Ready: &no}
	slice.Spec = &spec
	for _, c := range []struct {
		name string
		to   *api.Object
		want map[string]int
	}{
		{"a pod that is not ready any more", unready["Pod/p7"], map[string]int{"forms": 1, "dataplanes": 1}},
		{"a slice in which an endpoint is not ready any more", &slice, map[string]int{"slices": 1}},
		{"a node", &api.Object{Ref: api.Ref{Kind: api.KindNode, Name: "n"}}, map[string]int{}},
		{"a Service of others", &api.Object{Ref: api.Ref{Kind: api.KindService, Mesh: "default", Namespace: "on", Name: "x"}, Spec: &api.Service{Selector: map[string]string{"app": "x"}}}, map[string]int{"services": 1, "headless": 1}},
	} {
		got := s.Ran(g, []snapshot.Change{{After: c.to}})
		for k, n := range got {
			if n == 0 {
				delete(got, k)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s runs (-want +got):\n%s", c.name, diff)
		}
	}
}
