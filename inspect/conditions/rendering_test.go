package conditions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// apart are two policies, each of them sound, that merge into intervals which
// Envoy refuses.
var apart = inspecttest.Street + `---
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
	m := inspecttest.Model(t, apart)
	e, err := explain.Of(m, inspecttest.Plane("b-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	adjusted := func(n api.Note) bool { return n.Code == "Adjusted" && strings.Contains(n.Message, "mr-base") }
	if i := slices.IndexFunc(e.Notes, adjusted); i < 0 || slices.ContainsFunc(e.Notes[i+1:], adjusted) {
		t.Errorf("not said once at the dataplane: %+v", e.Notes)
	}
	var said []conditions.Problem
	for _, o := range conditions.Problems(m, nil, nil) {
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
	m := inspecttest.Model(t, inspecttest.Street)
	sidecars := []inspect.Sidecar{{Dataplane: inspecttest.Plane("a-1"), Connected: true, Note: "no configuration could be made"}, {Dataplane: inspecttest.Plane("b-1"), Connected: true, InSync: true, Note: "an old story"}}
	got := conditions.OverviewOf(m, "default", sidecars).Sidecars.Withheld
	if want := (inspect.Withheld{Dataplane: "a-1", Message: "no configuration could be made"}); !slices.Equal(got, []inspect.Withheld{want}) {
		t.Errorf("held are %+v", got)
	}
	owners := conditions.Problems(m, sidecars, nil)
	if owners[0].Owner != "Dataplane/default/a-1" || owners[0].Problems[0].Code != "Held" {
		t.Errorf("the first owner is %+v", owners[0])
	}
}

// A policy in a listener that Envoy would refuse does not hold there, and says so.
func TestWhatIsNotRenderedIsNotProgrammed(t *testing.T) {
	t.Parallel()
	objects, _ := world.Decode("named.yaml", []byte(`
type: Dataplane
mesh: default
name: db-1
networking: {address: db.example.org, inbound: [{port: 5432, tags: {kuma.io/service: db, kuma.io/protocol: tcp}}]}
---
type: MeshRateLimit
mesh: default
name: few
spec: {from: [{targetRef: {kind: Mesh}, default: {local: {tcp: {connectionRate: {num: 1, interval: 1s}}}}}]}
`))
	m, _ := world.Compile(world.Snapshot(objects...))
	few := api.Ref{Kind: "MeshRateLimit", Mesh: "default", Name: "few"}
	s, err := conditions.StatusOf(m.Reader(nil), few, inspect.Listed([]inspect.Sidecar{inspecttest.Connected("db-1", true)}))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Conditions[2]; c.Status != "False" || c.Reason != "Rejected" || !strings.Contains(c.Message, "spec.from[0]: Envoy would refuse") {
		t.Errorf("%+v", c)
	}
	if c := s.Conditions[0]; c.Status != "True" {
		t.Errorf("the document itself is fine: %+v", c)
	}
	if s, err := conditions.StatusOf(m.Reader(nil), few, inspect.Listed(nil)); err != nil || s.Conditions[2].Reason != "Rejected" {
		t.Errorf("without its sidecar: %v %+v", err, s.Conditions[2])
	}
	notes := notes.On(m.Reader(nil), few)
	if len(notes) != 1 || notes[0].Code != "Rejected" || notes[0].Origin.Ref != few {
		t.Errorf("a writer of the policy hears %+v", notes)
	}
	warned := slices.ContainsFunc(world.Warnings(m), func(v *api.Violation) bool {
		return v.Object == few && v.Code == "Rejected" && v.Line == 10 && v.Severity == api.Warning
	})
	if !warned {
		t.Errorf("validation is silent: %v", world.Warnings(m))
	}
}
