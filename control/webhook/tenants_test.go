package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/webhook"
)

// TestRoutesAreCheckedAsTheyAreServed: what weft serves is checked, whatever its ingress class is;
// what it leaves to another controller is that one's to check (Mesh.tenancy.ingressClasses).
func TestRoutesAreCheckedAsTheyAreServed(t *testing.T) {
	t.Parallel()
	const broken = `{"apiVersion":"projectcontour.io/v1","kind":"HTTPProxy","metadata":{"name":"p","namespace":"on","annotations":{%a}},"spec":{%c"virtualhost":{"fqdn":"Not A Host"},"routes":[{"services":[{"name":"web","port":80}]}]}}`
	for _, c := range []struct {
		mesh, field, annotations string
		allowed                  bool
	}{
		{"type: Mesh\nname: default\n", "", "", false},
		{"type: Mesh\nname: default\n", "other", "", false},
		{"type: Mesh\nname: default\n", "weft", "", false},
		{"type: Mesh\nname: default\ntenancy: {ingressClasses: [weft]}\n", "other", "", true},
		{"type: Mesh\nname: default\ntenancy: {ingressClasses: [weft]}\n", "weft", "", false},
		{"type: Mesh\nname: default\ntenancy: {ingressClasses: [weft]}\n", "", "", false},
		{"type: Mesh\nname: default\ntenancy: {ingressClasses: [other]}\n", "other", "", false},
		{"type: Mesh\nname: default\ntenancy: {ingressClasses: [weft]}\n", "", `"kubernetes.io/ingress.class":"other"`, true},
		{"type: Mesh\nname: default\ntenancy: {ingressClasses: [weft]}\n", "weft", `"kubernetes.io/ingress.class":"other"`, false},
	} {
		class := ""
		if c.field != "" {
			class = `"ingressClassName":"` + c.field + `",`
		}
		document := strings.NewReplacer("%a", c.annotations, "%c", class).Replace(broken)
		if a := ask(t, handler(t, c.mesh), webhook.PathRoutes, request("on", "HTTPProxy", "projectcontour.io", document, "")); a.Allowed != c.allowed {
			t.Errorf("%s, class %q %s: allowed %v, %+v", c.mesh, c.field, c.annotations, a.Allowed, a.Result)
		}
	}
}

// TestNamespacesThatTakeNoPart: what is new there is refused, with what to do; what is there already
// can be changed, or nobody could clean it up.
func TestNamespacesThatTakeNoPart(t *testing.T) {
	t.Parallel()
	h := handler(t, "type: Mesh\nname: default\ntenancy: {namespaces: [off]}\n")
	document := retry(``, `"numRetries":3`)
	a := ask(t, h, webhook.PathKuma, request("on", "MeshRetry", "kuma.io", document, ""))
	if a.Allowed || a.Result.Code != 422 || !strings.Contains(a.Result.Message, "tenancy.namespaces of Mesh default") {
		t.Errorf("a policy: %v %+v", a.Allowed, a.Result)
	}
	if a := ask(t, h, webhook.PathKuma, request("on", "MeshRetry", "kuma.io", document, document)); !a.Allowed {
		t.Errorf("a policy that is there: %+v", a.Result)
	}
	text, err := json.Marshal(pod("p", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	q := request("on", "Pod", "", string(text), "")
	q.Kind.Version = "v1"
	if a := ask(t, h, webhook.PathInject, q); a.Allowed || !strings.Contains(a.Result.Message, "is not part of mesh default") {
		t.Errorf("a pod: %v %+v", a.Allowed, a.Result)
	}
	if a := ask(t, handler(t, "type: Mesh\nname: default\ntenancy: {namespaces: [\"o*\"]}\n"), webhook.PathInject, q); !a.Allowed {
		t.Errorf("a pod of a namespace that takes part: %+v", a.Result)
	}
}
