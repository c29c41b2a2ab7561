package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/weftmesh/weft/inspect"
)

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
