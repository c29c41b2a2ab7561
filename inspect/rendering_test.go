package inspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
)

// apart are two policies, each of them sound, that merge into intervals which
// Envoy refuses.
const apart = street + `---
type: MeshRetry
mesh: default
name: mr-base
spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, default: {http: {backOff: {baseInterval: 10s}}}}]}
---
type: MeshRetry
mesh: default
name: mr-longest
spec: {targetRef: {kind: Dataplane}, to: [{targetRef: {kind: MeshService, name: web}, default: {http: {backOff: {maxInterval: 1s}}}}]}
`

// What Envoy gets differently from what was written is said where people look:
// at the dataplane, and among the problems, once however many hold it.
func TestAdjustedValuesAreSaid(t *testing.T) {
	t.Parallel()
	m := model(t, apart)
	e, err := inspect.Explain(m, plane("b-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	adjusted := func(n api.Note) bool { return n.Code == "Adjusted" && strings.Contains(n.Message, "mr-base") }
	if i := slices.IndexFunc(e.Notes, adjusted); i < 0 || slices.ContainsFunc(e.Notes[i+1:], adjusted) {
		t.Errorf("not said once at the dataplane: %+v", e.Notes)
	}
	var said []inspect.Problem
	for _, o := range inspect.Problems(m, nil, nil) {
		for _, p := range o.Problems {
			if p.Code == "Adjusted" {
				said = append(said, p)
			}
		}
	}
	if len(said) != 1 || said[0].Line == 0 || said[0].Severity != api.Warning {
		t.Errorf("the problems are %+v", said)
	}
}

func TestASidecarThatGetsNothingSaysWhy(t *testing.T) {
	t.Parallel()
	m := model(t, street)
	sidecars := []inspect.Sidecar{{Dataplane: plane("a-1"), Connected: true, Note: "no configuration could be made"}, {Dataplane: plane("b-1"), Connected: true, InSync: true, Note: "an old story"}}
	got := inspect.OverviewOf(m, "default", sidecars).Sidecars.Held
	if want := (inspect.Held{Dataplane: "a-1", Message: "no configuration could be made"}); !slices.Equal(got, []inspect.Held{want}) {
		t.Errorf("held are %+v", got)
	}
	owners := inspect.Problems(m, sidecars, nil)
	if owners[0].Owner != "Dataplane/default/a-1" || owners[0].Problems[0].Code != "Held" {
		t.Errorf("the first owner is %+v", owners[0])
	}
}
