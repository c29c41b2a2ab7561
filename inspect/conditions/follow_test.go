package conditions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// refusing are so many sidecars that refuse what they were sent.
func refusing(n int) (out []inspect.Sidecar) {
	for i := range n {
		out = append(out, inspect.Sidecar{Dataplane: inspecttest.Plane(fmt.Sprintf("d-%d", i)), Connected: true, Refusal: &inspect.Refusal{Type: "lds", Message: "no"}})
	}
	return out
}

// How many refused it is said of those that are not named.
func TestRefusalsBeyondThreeAreCounted(t *testing.T) {
	t.Parallel()
	text := `{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, appProtocol: http}]}}
---
{type: MeshRetry, mesh: default, name: mr, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}}
`
	for i := range 5 {
		text += fmt.Sprintf("---\n{type: Dataplane, mesh: default, name: d-%d, networking: {address: 127.0.0.%d, inbound: [{port: 80, tags: {kuma.io/service: web}}], outbound: [{port: 10001, backendRef: {kind: MeshService, name: web, port: 80}}]}}\n", i, i+1)
	}
	s, err := conditions.StatusOf(inspecttest.Model(t, text), api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "mr"}, inspect.Listed(refusing(5)))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Conditions[2]; c.Reason != "Rejected" || c.Message != "d-0: no; d-1: no; d-2: no; and 2 more" || c.Dataplanes.Rejected != 5 {
		t.Errorf("%+v", c)
	}
}

// What is told of the sidecars of a mesh is of that mesh alone, with those that are expected back.
func TestSyncIsOfOneMesh(t *testing.T) {
	t.Parallel()
	elsewhere := inspect.Sidecar{Dataplane: inspecttest.Plane("c-1"), Connected: true, Note: "it has no certificate"}
	elsewhere.Dataplane.Mesh = "other"
	held := inspect.Sidecar{Dataplane: inspecttest.Plane("b-1"), Connected: true, Note: "it has no certificate"}
	awaited := inspect.Sidecar{Dataplane: inspecttest.Plane("a-1"), Awaited: true}
	s := inspect.SyncOf(inspecttest.Model(t, inspecttest.Street), "default", []inspect.Sidecar{elsewhere, held, awaited})
	if len(s.Withheld) != 1 || s.Withheld[0].Dataplane != "b-1" || !slices.Equal(s.Awaited, []string{"a-1"}) || !slices.Equal(s.Missing, []string{"a-1", "web-1"}) {
		t.Errorf("%+v", s)
	}
}

// A sidecar that refuses one thing and is kept from another has two problems.
func TestASidecarWithTwoProblems(t *testing.T) {
	t.Parallel()
	both := inspect.Sidecar{Dataplane: inspecttest.Plane("a-1"), Connected: true, Note: "it has no certificate", Refusal: &inspect.Refusal{Type: "rds", Message: "no"}}
	var got []string
	for _, p := range conditions.Problems(inspecttest.Model(t, inspecttest.Street), []inspect.Sidecar{both}, nil)[0].Problems {
		got = append(got, p.Code+" "+p.Message)
	}
	if want := []string{"Rejected its Envoy refused rds: no", "Held its sidecar does not get its configuration: it has no certificate"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A sidecar that was counted as one that refuses, and does not any more, is not left out: it is
// behind until it is counted anew.
func TestWhoRefusedAMomentAgoIsBehind(t *testing.T) {
	t.Parallel()
	tally := inspect.NewTally()
	tally.Move(inspecttest.Plane("a-1"), "", inspect.StateRefusing)
	tally.Move(inspecttest.Plane("b-1"), "", inspect.StateBehind)
	s := tally.Sync(inspecttest.Model(t, inspecttest.Street), "default", inspect.Listed([]inspect.Sidecar{inspecttest.Connected("a-1", true)}), nil, func(api.Ref) bool { return false })
	if s.Total != 2 || len(s.Refusing) != 0 || !slices.Equal(s.Behind, []string{"a-1", "b-1"}) {
		t.Errorf("%+v", s)
	}
}

// Problems say where a field stands now, also where its document was written anew since somebody
// asked.
func TestProblemsFollowTheirDocuments(t *testing.T) {
	t.Parallel()
	of := func(text string) *api.Object {
		objects, violations := world.Decode("street.yaml", []byte(text))
		if len(violations) > 0 {
			t.Fatal(violations[0])
		}
		return objects[0]
	}
	const typo = "type: MeshRetry\nmesh: default\nname: mr\nspec: {targetRef: {kind: MeshHTTPRoute, name: none}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}\n"
	was, is := of(typo), of("# a line more\n"+typo)
	s := world.Snapshot(was)
	m, _ := world.Compile(s)
	lineOf := func() string {
		var out []string
		for _, o := range conditions.Problems(m.Reader(nil), nil, nil) {
			for _, p := range o.Problems {
				out = append(out, fmt.Sprintf("%s:%d", p.Code, p.Line))
			}
		}
		return strings.Join(out, " ")
	}
	if got := lineOf(); got != "TargetNotFound:4" {
		t.Fatalf("at first: %s", got)
	}
	changes := []snapshot.Change{{Before: was, After: is}}
	m, _ = m.Update(s.With(s.Revision()+1, changes), changes)
	if got := lineOf(); got != "TargetNotFound:5" {
		t.Errorf("afterwards: %s", got)
	}
}
