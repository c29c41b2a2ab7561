package sim_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
)

// TestHostsOfManyBackends: of several backends each one outside the mesh gets its
// own name; those inside, those that lead nowhere, those outside that have no
// endpoint, and those without a cluster keep the request as it is.
func TestHostsOfManyBackends(t *testing.T) {
	t.Parallel()
	r := shop(everything(lost(1), to("v1", 1), to("v2", 1), to("empty", 1), to("unknown", 1)))
	for i := range r.Clusters[1:] {
		r.Clusters[i+1].Destination.External = &api.MeshExternalService{}
	}
	r.Clusters[1].List[0].Address = "api.example.org"
	v, err := run(r, sim.Request{URL: "http://web:8080/"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, branch := range v.Branches {
		for _, b := range branch.Backends {
			got[b.Name] = ""
			if b.Forwarded != nil {
				got[b.Name] = b.Forwarded.Authority
			}
		}
	}
	for name, want := range map[string]string{"nosuch": "", "v1": "", "v2": "api.example.org", "empty": "", "unknown": ""} {
		if has, ok := got[name]; !ok || has != want {
			t.Errorf("%s gets %q, wanted %q; of %v", name, has, want, got)
		}
	}
}

// TestBytesAreCertain: a destination that speaks no HTTP has one branch.
func TestBytesAreCertain(t *testing.T) {
	t.Parallel()
	v, err := run(town(), sim.Request{URL: "http://db:5432/"})
	if err != nil || len(v.Branches) != 1 || v.Branches[0].Probability != 1 || v.Branches[0].Outcome != sim.Forward {
		t.Errorf("%+v %v", v.Branches, err)
	}
}
