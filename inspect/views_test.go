package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/internal/cases"
)

// TestViews holds the answers of Kuma's inspect API to their JSON.
func TestViews(t *testing.T) {
	t.Parallel()
	const (
		web     = "kri_msvc_default___web_main"
		inbound = "kri_dp_default___a-1_main"
		route   = "kri_mhttpr_default___route-1_"
	)
	m, c, dp := model(t, street), world.Catalog(), plane("a-1")
	retry := api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "mr-top"}
	service := api.Ref{Kind: "MeshService", Mesh: "default", Name: "web"}
	got := txtar.Archive{Comment: []byte("Kuma's views of dataplane a-1 of the street in status_test.go.\n")}
	add := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got.Files = append(got.Files, txtar.File{Name: name, Data: append(text, '\n')})
	}
	layout, err := inspect.LayoutOf(m, c, dp)
	add("_layout", layout, err)
	list, err := inspect.OutboundPolicies(m, c, dp, web, "")
	add("_outbounds/web/_policies", list, err)
	list, err = inspect.OutboundPolicies(m, c, dp, web, route)
	add("_outbounds/web/_routes/route-1/_policies", list, err)
	list, err = inspect.InboundPolicies(m, c, dp, inbound)
	add("_inbounds/main/_policies", list, err)
	list, err = inspect.DataplanePolicies(m, dp)
	add("_policies", list, err)
	routes, err := inspect.Routes(m, c, dp, web)
	add("_outbounds/web/_routes", routes, err)
	metas, err := inspect.Dataplanes(m, c, retry)
	add("mr-top/_resources/dataplanes", metas, err)
	metas, err = inspect.ServiceDataplanes(m, c, service)
	add("web/_dataplanes", metas, err)
	names, err := inspect.Hostnames(m, service, "zone-1")
	add("web/_hostnames", names, err)
	rules, err := inspect.Rules(m, c, dp)
	add("_rules", rules, err)
	legacy, err := inspect.Legacy(m, dp)
	add("rules", legacy, err)

	cases.Equal(t, "testdata/views.txtar", txtar.Format(&got))
}

func TestViewsSayWhatTheyDoNotFind(t *testing.T) {
	t.Parallel()
	m, c, dp := model(t, street), world.Catalog(), plane("a-1")
	_, outbound := inspect.OutboundPolicies(m, c, dp, "kri_msvc_default___wep_main", "")
	_, route := inspect.OutboundPolicies(m, c, dp, "kri_msvc_default___web_main", "kri_mhttpr_default___no_")
	_, inbound := inspect.InboundPolicies(m, c, dp, "kri_dp_default___a-1_other")
	_, nobody := inspect.Explain(m, plane("a-2"), "")
	_, nowhere := inspect.Explain(m, dp, "wep:8080")
	for what, err := range map[string]error{"wep": outbound, "no_": route, "other": inbound, "a-1": nobody, "web:8080": nowhere} {
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%v does not say %q", err, what)
		}
	}
}

func TestExplainTakesEveryNameOfADestination(t *testing.T) {
	t.Parallel()
	m := model(t, street)
	for _, to := range []string{"", "web", "web:8080", "web:10001", "web.mesh", "web.mesh.local:8080", "127.0.0.1:10001"} {
		e, err := inspect.Explain(m, plane("a-1"), to)
		if err != nil || len(e.Outbounds) != 1 {
			t.Errorf("%q: %v, %d outbounds", to, err, len(e.Outbounds))
		}
	}
}

// A built-in default has the kind that it belongs to for an origin, and no name:
// fields without a value are left out.
func TestDefaultsHaveNoName(t *testing.T) {
	t.Parallel()
	e, err := inspect.Explain(model(t, street), plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	said := e.Outbounds[0].Policies["MeshRetry"].Why["http.backOff.baseInterval"]
	got, err := json.Marshal(said[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"value":"25ms","origin":{"kind":"MeshRetry"},"layer":"default"}`; string(got) != want {
		t.Errorf("%s, wanted %s", got, want)
	}
}
