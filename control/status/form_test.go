package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/route/gateway"
	"github.com/weftmesh/weft/store/kube"
)

var (
	then = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now  = then.Add(time.Hour)
)

func policy(list ...conditions.Condition) *conditions.Status {
	return &conditions.Status{Ref: api.Ref{Kind: "MeshRetry", Mesh: "default", Namespace: "shop", Name: "thrice"}, Conditions: list,
		Dataplanes: conditions.Counts{Selected: 4, Effective: 4, Connected: 3, Programmed: 2, Rejected: 1}}
}

func accepted(status, reason string) conditions.Condition {
	return conditions.Condition{Type: "Accepted", Status: status, Reason: reason, Message: "why"}
}

// written is what the API server holds after a write.
func written(t *testing.T, w *write, generation int64) kube.Report {
	t.Helper()
	text, err := json.Marshal(w.status)
	if err != nil {
		t.Fatal(err)
	}
	return kube.Report{Version: "8", Generation: generation, Status: text, Conditions: w.text}
}

func must(t *testing.T, s *conditions.Status, had kube.Report, own bool, at time.Time) *write {
	t.Helper()
	typ := api.Type{Custom: &api.Definition{Annotated: s.Ref.Kind == "RouteGroup"}}
	want, err := body(s, typ)
	if err != nil {
		t.Fatal(err)
	}
	w, err := change(s.Ref, want, had, typ, own, at)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestOnlyWhatDiffersIsWritten: the same status never twice, and a condition keeps the time
// since when it has its status.
func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	t.Parallel()
	first := must(t, policy(accepted("True", "Accepted")), kube.Report{Version: "7", Generation: 1}, true, then)
	text, _ := json.Marshal(first.status)
	want := `{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"why","observedGeneration":1,"reason":"Accepted","status":"True","type":"Accepted"}],` +
		`"dataplanes":{"applied":2,"rejected":1,"total":4},"observedGeneration":1}`
	if diff := cmp.Diff(want, string(text)); diff != "" || first.version != "7" || first.how != apply {
		t.Errorf("version %s: %s", first.version, diff)
	}
	had := written(t, first, 1)
	if again := must(t, policy(accepted("True", "Accepted")), had, true, now); again != nil {
		t.Errorf("the same is written again: %v", again.status)
	}
	same := must(t, policy(accepted("True", "Accepted")), kube.Report{Generation: 2, Status: had.Status}, true, now)
	other := must(t, policy(accepted("False", "Invalid")), had, true, now)
	for w, want := range map[*write]string{same: "2026-01-02T03:04:05Z", other: "2026-01-02T04:04:05Z"} {
		if got := object(list(w.status["conditions"])[0])["lastTransitionTime"]; got != want {
			t.Errorf("since %v, want %s", got, want)
		}
	}
	two := written(t, must(t, policy(accepted("True", "Accepted"), conditions.Condition{Type: "Programmed", Status: "True", Reason: "Programmed"}), had, true, now), 1)
	if w := must(t, policy(accepted("True", "Accepted")), two, true, now); w == nil {
		t.Error("a condition that holds no more stays")
	}
	others := strings.Replace(string(had.Status), `[{`, `[{"type":"example.com/Seen","status":"True"},{`, 1)
	if w := must(t, policy(accepted("True", "Accepted")), kube.Report{Generation: 1, Status: json.RawMessage(others)}, true, now); w != nil {
		t.Errorf("a condition of others makes a write: %v", w.status)
	}
	long := policy(accepted("False", "Invalid"))
	long.Conditions[0].Message = strings.Repeat("ä", longestMessage)
	if m := object(list(must(t, long, had, true, now).status["conditions"])[0])["message"].(string); len(m) > longestMessage || strings.Trim(m, "ä") != "" {
		t.Errorf("a long message has %d bytes, and ends with %q", len(m), m[len(m)-4:])
	}
}

// TestWhatIsGoneIsTakenAway: names and counts that a service has no more.
func TestWhatIsGoneIsTakenAway(t *testing.T) {
	t.Parallel()
	ref, typ := api.Ref{Kind: api.KindMeshService, Mesh: "default", Namespace: "shop", Name: "web"}, api.Type{}
	had := kube.Report{Generation: 1, Status: json.RawMessage(`{"addresses":[{"hostname":"web.mesh"}],"vips":[{"ip":"241.0.0.1"}],"dataplaneProxies":{"connected":1,"total":2}}`)}
	for name, c := range map[string]struct {
		report api.ServiceReport
		writes bool
	}{
		"nothing":            {api.ServiceReport{Addresses: []api.ServiceAddress{{Hostname: "web.mesh"}}, VIPs: []api.VIP{{IP: "241.0.0.1"}}, DataplaneProxies: &api.ProxyCounts{Connected: 1, Total: 2}}, false},
		"a name":             {api.ServiceReport{VIPs: []api.VIP{{IP: "241.0.0.1"}}, DataplaneProxies: &api.ProxyCounts{Connected: 1, Total: 2}}, true},
		"the last connected": {api.ServiceReport{Addresses: []api.ServiceAddress{{Hostname: "web.mesh"}}, VIPs: []api.VIP{{IP: "241.0.0.1"}}, DataplaneProxies: &api.ProxyCounts{Total: 2}}, true},
	} {
		want, err := Values(c.report)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := change(ref, want, had, typ, true, now); err != nil || (w != nil) != c.writes {
			t.Errorf("%s is gone: %v, %v", name, w, err)
		}
	}
}

// TestEntriesOfOtherControllersStay: a route at two parents, of which another controller has one.
func TestEntriesOfOtherControllersStay(t *testing.T) {
	t.Parallel()
	route := &conditions.Status{Ref: api.Ref{Kind: "HTTPRoute", Mesh: "default", Namespace: "shop", Name: "web"}}
	route.Own = gateway.Status{Parents: []gateway.ParentStatus{{ControllerName: gateway.Controller, Conditions: []gateway.Condition{{Type: "Accepted", Status: "True", Reason: "Accepted"}}}}}
	const other = `{"controllerName":"example.com/x","parentRef":{"name":"theirs"},"conditions":[{"type":"Accepted","status":"False"}]}`
	w := must(t, route, kube.Report{Version: "7", Generation: 3, Status: json.RawMessage(`{"parents":[` + other + `,{"controllerName":"` + gateway.Controller + `","parentRef":{"name":"gone"}}]}`)}, true, then)
	if w.how != replace || w.version != "7" {
		t.Errorf("written by %d of version %s", w.how, w.version)
	}
	text, _ := json.Marshal(w.status["parents"])
	want := `[{"conditions":[{"status":"False","type":"Accepted"}],"controllerName":"example.com/x","parentRef":{"name":"theirs"}},` +
		`{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"Accepted","observedGeneration":3,"reason":"Accepted","status":"True","type":"Accepted"}],` +
		`"controllerName":"weft.io/controller","parentRef":{"name":""}}]`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if again := must(t, route, written(t, w, 3), true, now); again != nil {
		t.Errorf("the same is written again: %v", again.status)
	}
	route.Own = gateway.Status{Parents: []gateway.ParentStatus{}}
	if w := must(t, route, kube.Report{Status: json.RawMessage(`{"parents":[` + other + `]}`)}, true, now); w != nil {
		t.Errorf("a route of others is written: %v", w.status)
	}
	if w := must(t, route, kube.Report{}, true, now); w != nil {
		t.Errorf("a route of nobody is written: %v", w.status)
	}
	if b, _ := body(&conditions.Status{Ref: api.Ref{Kind: "Gateway"}}, api.Type{Reported: true}); b != nil {
		t.Errorf("a Gateway of others is written: %v", b)
	}
}

// TestWhatHasNoPlaceIsAnnotated: conditions of a RouteGroup as Skipper defines it.
func TestWhatHasNoPlaceIsAnnotated(t *testing.T) {
	t.Parallel()
	group := policy(accepted("True", "Accepted"))
	group.Ref.Kind = "RouteGroup"
	group.Own = map[string]any{"conditions": []map[string]any{{"type": "Accepted", "status": "True", "reason": "Accepted"}}}
	if w := must(t, group, kube.Report{Generation: 1}, true, then); w.how != apply || w.status["observedGeneration"] != 1.0 {
		t.Errorf("by weft's definition: %+v", w)
	}
	w := must(t, group, kube.Report{Generation: 1}, false, then)
	want := `[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"Accepted","observedGeneration":1,"reason":"Accepted","status":"True","type":"Accepted"}]`
	if w.how != annotate || w.text != want {
		t.Errorf("by Skipper's: %+v", w)
	}
	if again := must(t, group, kube.Report{Generation: 1, Conditions: want}, false, now); again != nil {
		t.Errorf("the same is written again: %s", again.text)
	}
}

// TestDocumentsAboutIdentitiesHaveConditions: a MeshIdentity and a MeshTrust have a status of weft's
// form, which is not that of other documents that stand beside routes.
func TestDocumentsAboutIdentitiesHaveConditions(t *testing.T) {
	t.Parallel()
	for kind, has := range map[string]bool{api.KindMeshIdentity: true, api.KindMeshTrust: true, "Gateway": false} {
		s := policy(conditions.Condition{Type: "Ready", Status: "False", Reason: "PartiallyReady", Message: "why"})
		s.Ref.Kind = kind
		got, err := body(s, api.Type{Name: kind, Reported: true})
		if err != nil || (got["conditions"] != nil) != has || has && got["observedGeneration"] == nil {
			t.Errorf("%s: %v %v", kind, got, err)
		}
	}
}
