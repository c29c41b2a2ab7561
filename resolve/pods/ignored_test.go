package pods_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/pods"
)

// TestIgnoredSelectorLabels holds spec/kubernetes.md 2.9: a Service that asks for labels which do
// not count, and which the pod lacks, names an inbound that is Ignored, and says nothing of
// the protocol of others; one that asks for nothing else names none.
func TestIgnoredSelectorLabels(t *testing.T) {
	t.Parallel()
	selecting := func(name, selector, port string) string {
		return strings.Replace(service(name, port), "{app: a}", selector, 1)
	}
	const marker = "in 49151 49151 tcp Ready kuma.io/service=p_on_svc kuma.io/instance=p"
	for name, c := range map[string]struct {
		docs string
		want []string
	}{
		"the pod lacks it":   {selecting("a", "{aaa/hash: x, app: a}", "{port: 80, targetPort: 8080}"), []string{"in 8080 main tcp Ignored kuma.io/service=a_on_svc_80"}},
		"it has another one": {strings.Replace(selecting("a", "{app: a, e: x}", "{port: 80, targetPort: 8080}"), "e: x", "hash: x", 1), []string{"in 8080 main tcp Ignored kuma.io/service=a_on_svc_80"}},
		"the pod lacks more": {selecting("a", "{aaa/hash: x, app: b}", "{port: 80, targetPort: 8080}"), []string{marker}},
		"nothing else":       {selecting("a", "{aaa/hash: x}", "{port: 80, targetPort: 8080}"), []string{marker}},
		"one of two": {selecting("a", "{aaa/hash: x, app: a}", "{port: 80, targetPort: 8080, appProtocol: grpc}") + selecting("b", "{app: a}", "{port: 81, targetPort: 8080, appProtocol: http}"),
			[]string{"in 8080 main http Ignored kuma.io/service=a_on_svc_80", "in 8080 main http Ready kuma.io/service=b_on_svc_81"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := pod("") + c.docs
			p, a := around(t, docs)
			a.Unselecting = []string{"aaa/hash", "hash"}
			got, notes := pods.Dataplane(p, a)
			if lines := said(got, notes); !slices.Equal(lines, c.want) {
				t.Errorf("got %q, want %q", lines, c.want)
			}
			objects, err := decode.Objects(api.NewCatalog(api.Types()...), "docs.yaml", []byte(docs))
			if err != nil {
				t.Fatal(err)
			}
			var changes []snapshot.Change
			for _, o := range objects {
				changes = append(changes, snapshot.Change{After: o})
			}
			s := pods.NewStage("z", a.Unselecting...)
			_, all, _ := s.Update(s.New(), changes)
			for _, ch := range all {
				if ch.After.Kind == api.KindDataplane && fmt.Sprint(said(ch.After, nil)) != fmt.Sprint(c.want) {
					t.Errorf("the stage has %q, want %q", said(ch.After, nil), c.want)
				}
			}
		})
	}
}
