package conditions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/inspecttest"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street)
	all := []inspect.Sidecar{inspecttest.Connected("a-1", true), inspecttest.Connected("b-1", true), inspecttest.Connected("web-1", true)}
	behind := []inspect.Sidecar{inspecttest.Connected("a-1", true), inspecttest.Connected("b-1", false)}
	refusing := []inspect.Sidecar{{Dataplane: inspecttest.Plane("a-1"), Connected: true, Refusal: &inspect.Refusal{Type: "rds", Message: "no such thing"}}, inspecttest.Connected("b-1", true)}
	other := slices.Clone(refusing) // what it refused is a resource in which only others take part
	other[0].Refusal = &inspect.Refusal{Type: "lds", Resources: []string{"inbound:10.0.0.1:80"}, Message: "no such thing"}
	own := slices.Clone(refusing)
	own[0].Refusal = &inspect.Refusal{Type: "rds", Resources: []string{"outbound:127.0.0.1:10001"}, Message: "no such thing"}
	r, _ := m.Dataplane(inspecttest.Plane("a-1"))
	took := slices.Clone(other) // and it has confirmed all else
	took[0].Rest, took[0].Lacks = r, other[0].Refusal.Resources
	tookNot := slices.Clone(own)
	tookNot[0].Rest, tookNot[0].Lacks = r, own[0].Refusal.Resources
	confirmed := slices.Clone(refusing) // what it refused came after all that it confirmed
	confirmed[0].InSync = true
	for _, c := range []struct {
		object   string
		sidecars []inspect.Sidecar
		want     string // type=status reason message
	}{
		{"MeshRetry/mr-mesh", all, "Programmed=False Overridden overridden by MeshRetry/mr-dp to[0]"},
		{"MeshRetry/mr-dp", all, "Programmed=True Programmed"},
		{"MeshRetry/mr-dp", behind, "Programmed=False Pending 1 of 2 sidecars"},
		{"MeshRetry/mr-dp", nil, "Programmed=False Pending connected"},
		{"MeshRetry/mr-top", all, "Programmed=True Programmed"},
		{"MeshRetry/mr-top", refusing, "Programmed=False Rejected a-1: no such thing"},
		{"MeshRetry/mr-top", own, "Programmed=False Rejected a-1: no such thing"},
		{"MeshRetry/mr-top", other, "Programmed=False Pending not of it: a-1: no such thing"},
		{"MeshRetry/mr-top", took, "Programmed=True Programmed"},
		{"MeshRetry/mr-top", tookNot, "Programmed=False Rejected a-1: no such thing"},
		{"MeshRetry/mr-top", confirmed, "Programmed=False Rejected a-1: no such thing"},
		{"MeshRetry/mr-typo", all, "Accepted=False TargetNotFound did you mean route-1"},
		{"MeshRetry/mr-typo", all, "Programmed=False NoEffect"},
		{"MeshTimeout/mt-in", all, "Programmed=True PartiallyProgrammed route-1 is on 1 of the 2 selected dataplanes that call web"},
		{"MeshHTTPRoute/route-1", all, "Accepted=True Accepted"},
		{"MeshHTTPRoute/route-1", all, "ResolvedRefs=False BackendNotFound nosuch"},
		{"MeshHTTPRoute/route-1", all, "Programmed=True Programmed"},
	} {
		kind, name, _ := strings.Cut(c.object, "/")
		s, err := conditions.StatusOf(m, api.Ref{Kind: kind, Mesh: "default", Name: name}, inspect.Listed(c.sidecars))
		if err != nil {
			t.Fatal(err)
		}
		head, message, _ := strings.Cut(c.want, " ")
		reason, message, _ := strings.Cut(message, " ")
		found := false
		for _, x := range s.Conditions {
			found = found || x.Type+"="+x.Status == head && x.Reason == reason && strings.Contains(x.Message, message)
		}
		if !found {
			t.Errorf("%s: no %s among %+v", c.object, c.want, s.Conditions)
		}
	}
}

// TestWhatIsLostBesideWhatHolds: an object that acts on one dataplane waits for its sidecar,
// although something else that it targets is not there.
func TestWhatIsLostBesideWhatHolds(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street+`---
type: MeshTimeout
mesh: default
name: half
spec:
  targetRef: {kind: Dataplane, labels: {team: red}}
  to:
    - {targetRef: {kind: MeshService, name: web}, default: {http: {requestTimeout: 2s}}}
    - {targetRef: {kind: MeshHTTPRoute, name: route-l}, default: {http: {requestTimeout: 3s}}}
`)
	s, err := conditions.StatusOf(m, api.Ref{Kind: "MeshTimeout", Mesh: "default", Name: "half"}, inspect.Listed(nil))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range s.Conditions {
		got += c.Type + "=" + c.Status + " " + c.Reason + " "
	}
	if want := "Accepted=False TargetNotFound ResolvedRefs=True ResolvedRefs Programmed=False Pending "; got != want || s.Dataplanes.Effective != 1 {
		t.Errorf("%s on %+v, want %s", got, s.Dataplanes, want)
	}
}

// A policy of which one entry names a service that is not there holds for the others: it is
// accepted, and says which reference leads nowhere.
func TestAnEntryWithoutItsServiceIsNotAll(t *testing.T) {
	t.Parallel()
	s, err := conditions.StatusOf(inspecttest.Model(t, inspecttest.Street+`---
type: MeshTimeout
mesh: default
name: half
spec:
  to:
    - {targetRef: {kind: MeshService, name: web}, default: {http: {requestTimeout: 2s}}}
    - {targetRef: {kind: MeshService, name: wep}, default: {http: {requestTimeout: 3s}}}
`), api.Ref{Kind: "MeshTimeout", Mesh: "default", Name: "half"}, inspect.Listed(nil))
	if err != nil {
		t.Fatal(err)
	}
	if a, r := s.Conditions[0], s.Conditions[1]; a.Status != "True" || r.Status != "False" || r.Reason != "TargetNotFound" || !strings.Contains(r.Message, "spec.to[1]") {
		t.Errorf("%+v, %+v", a, r)
	}
}

// TestHostsThatOthersOwn: a route that has one of its two hosts is programmed in part, and its
// status and its explanation name the other host and who has it.
func TestHostsThatOthersOwn(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, `
{type: Mesh, name: default}
---
{type: Dataplane, mesh: default, name: edge, networking: {address: 127.0.0.1, gateway: {type: BUILTIN, listeners: [{port: 8080}]}}}
---
{type: HTTPProxy, mesh: default, name: first, spec: {virtualhost: {fqdn: a.test}, routes: [{directResponsePolicy: {statusCode: 418}}]}}
---
{type: RouteGroup, mesh: default, name: both, spec: {hosts: [a.test, b.test], backends: [{name: s, type: shunt}], defaultBackends: [{backendName: s}]}}
`)
	ref := api.Ref{Kind: "RouteGroup", Mesh: "default", Name: "both"}
	e, err := conditions.ExplainObject(m, ref, inspect.Listed([]inspect.Sidecar{inspecttest.Connected("edge", true)}))
	if err != nil {
		t.Fatal(err)
	}
	done := e.Conditions[2]
	if done.Status != "True" || done.Reason != "PartiallyProgrammed" || !strings.Contains(done.Message, "a.test") || !strings.Contains(done.Message, "HTTPProxy/default/first") {
		t.Errorf("%+v", done)
	}
	var got []string
	for _, x := range e.Targets {
		text := x.Text + " " + x.State
		for _, by := range x.By {
			text += " by " + by.Ref.String()
		}
		got = append(got, text)
	}
	want := []string{"to Host a.test section 80, any path shadowed by HTTPProxy/default/first", "to Host b.test section 80, any path found"}
	if !slices.Equal(got, want) {
		t.Errorf("targets %q, want %q", got, want)
	}
}

func TestOverviewCountsSidecars(t *testing.T) {
	t.Parallel()
	o := conditions.OverviewOf(inspecttest.Model(t, inspecttest.Street), "default", []inspect.Sidecar{inspecttest.Connected("a-1", true), inspecttest.Connected("b-1", false)})
	if s := o.Sidecars; s.Total != 3 || s.InSync != 1 || s.Absent != 1 || len(s.Behind) != 1 || s.Behind[0] != "b-1" {
		t.Errorf("%+v", s)
	}
	if len(o.Objects) != 6 {
		t.Errorf("%d objects, wanted the route and five policies", len(o.Objects))
	}
}

func TestProblemsAreGroupedByOwner(t *testing.T) {
	t.Parallel()
	violation := api.Path("spec").Breaks("is wrong; correct it")
	violation.File, violation.Line = "bad.yaml", 3
	refusing := []inspect.Sidecar{{Dataplane: inspecttest.Plane("a-1"), Connected: true, Refusal: &inspect.Refusal{Type: "rds", Message: "no"}}}
	var got []string
	for _, o := range conditions.Problems(inspecttest.Model(t, inspecttest.Street), refusing, []*api.Violation{violation}) {
		for _, p := range o.Problems {
			got = append(got, o.Owner+" "+p.Code)
			if p.Line == 0 && p.Code != "Rejected" {
				t.Errorf("%s %s has no line", o.Owner, p.Code)
			}
		}
	}
	want := "Dataplane/default/a-1 Rejected, MeshHTTPRoute/default/route-1 BackendNotFound, MeshRetry/default/mr-typo TargetNotFound, bad.yaml Invalid"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q, wanted %q", got, want)
	}
}

func TestTargetsOfAnObject(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"mr-mesh": conditions.Shadowed, "mr-dp": conditions.Found, "mr-top": conditions.Found, "mr-typo": conditions.Missing} {
		e, err := conditions.ExplainObject(inspecttest.Model(t, inspecttest.Street), api.Ref{Kind: "MeshRetry", Mesh: "default", Name: name}, nil)
		if err != nil || len(e.Targets) != 1 || e.Targets[0].State != want {
			t.Errorf("%s: %v %+v, wanted %s", name, err, e.Targets, want)
		}
	}
	e, err := conditions.ExplainObject(inspecttest.Model(t, inspecttest.Street), api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: "route-1"}, nil)
	if err != nil || len(e.Dataplanes) != 1 || e.Dataplanes[0] != "a-1" || e.Targets[0].State != conditions.Found {
		t.Errorf("route-1: %v %+v", err, e)
	}
	_, err = conditions.ExplainObject(inspecttest.Model(t, inspecttest.Street), api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "mr-tip"}, nil)
	if err == nil || !strings.Contains(err.Error(), "did you mean mr-top") {
		t.Errorf("an unknown name: %v", err)
	}
}
