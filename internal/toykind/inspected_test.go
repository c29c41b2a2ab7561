package toykind_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/lint"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
	"github.com/weftmesh/weft/xds"
)

// wants are texts that all have to be in another one.
func wants(t *testing.T, what, in string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(in, text) {
			t.Errorf("%s: no %q in\n%s", what, text, in)
		}
	}
}

// TestExplained: who is a guest, by which entry of which document, at an inbound and at a rule.
func TestExplained(t *testing.T) {
	t.Parallel()
	m := compile(guarded(t, "STRICT", everybody, guests, routes, atRule)...).Reader(nil)
	e, err := explain.Of(m, dataplane("backend"), "")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := explain.Text(&text, e, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	wants(t, "explain", text.String(), "MeshGuestList", "MeshGuestList/default/guests", "MeshGuestList/default/admins")
	why := e.Inbounds[0].Policies["MeshGuestList"].Why["guests"]
	if len(why) != 1 || why[0].Origin.Name != "guests" || why[0].Origin.Field != "spec.rules[0]" {
		t.Errorf("provenance: %+v", why)
	}
	p, err := permissions.Of(m, "default", "", "backend")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range p.Items {
		line := strings.TrimPrefix(row.Caller.Identity, "spiffe://default/") + " " + row.Access
		if row.By != nil {
			line += fmt.Sprintf(" %s %s", row.By.Origin.Name, row.By.Field)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{"backend deny", "ops some all spec.rules[0].default.allow[0]", "web allow all spec.rules[0].default.allow[0]"}
	if !slices.Equal(got, want) {
		t.Errorf("permissions:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// planned is what documents would change.
func planned(t *testing.T, before []string, after ...string) (step.Comparison, []string) {
	t.Helper()
	m := compile(guarded(t, "STRICT", before...)...)
	var writes []store.Write
	for _, o := range objectsOf(t, after...) {
		writes = append(writes, store.Write{Put: o})
	}
	s, results := step.Next(m, writes, time.Unix(0, 0))
	s.Renderer = xds.NewRenderer(kinds())
	var out []string
	for _, a := range plan.Of(s, results).Permissions {
		line := fmt.Sprintf("%s %s %s %s %s", a.Change, strings.TrimPrefix(a.Caller.Identity, "spiffe://default/"), a.Destination.Service, a.Before, a.After)
		if a.Rule != nil {
			line += " " + a.Rule.Match
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return s, out
}

// TestPlanned: what a list closes, and what another one opens, at an inbound and at a rule; and the step
// comes to what all documents compiled anew come to.
func TestPlanned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after, want []string
	}{
		"a first list":     {[]string{everybody}, []string{guests}, []string{"narrows backend backend allow deny", "narrows backend database allow deny", "narrows ops backend allow deny", "narrows ops database allow deny"}},
		"other guests":     {[]string{everybody, guests}, []string{tagged}, []string{"narrows web backend allow deny", "narrows web database allow deny", "widens ops backend deny allow", "widens ops database deny allow"}},
		"a list of a rule": {[]string{everybody, routes}, []string{atRule}, []string{"narrows backend backend allow deny PathPrefix /admin", "narrows web backend allow deny PathPrefix /admin"}},
	} {
		s, got := planned(t, c.before, c.after...)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		var all []*api.Object
		for o := range s.After.Written().All() {
			all = append(all, o)
		}
		anew := compile(all...)
		for _, ask := range []string{"web /", "ops /", "web /admin", "ops /admin", "web ", "ops "} {
			from, path, _ := strings.Cut(ask, " ")
			if a, b := asked(t, s.After, from, path), asked(t, anew, from, path); a != b {
				t.Errorf("%s: %s: after the step %s, compiled anew %s", name, ask, a, b)
			}
		}
	}
}

// TestNoted: the notes on permissions are said of lists too, by the model and by lint.
func TestNoted(t *testing.T) {
	t.Parallel()
	open := strings.Replace(guests, "default/web", "default/we", 1)
	for name, c := range map[string]struct {
		mode      string
		documents []string
		want      string
	}{
		"plaintext":      {"PERMISSIVE", []string{everybody, guests}, "PlaintextNotAsked"},
		"an open prefix": {"STRICT", []string{everybody, open}, "OpenPrefix"},
		"no such rule":   {"STRICT", []string{everybody, routes, strings.Replace(atRule, "sectionName: admin", "sectionName: nowhere", 1)}, "TargetNotFound"},
	} {
		objects := guarded(t, c.mode, c.documents...)
		m := compile(objects...)
		var documents []*api.Object
		for _, o := range objects {
			if o.Kind == "MeshGuestList" {
				documents = append(documents, o)
			}
		}
		var violations []*api.Violation
		for n := range m.Notes() {
			violations = append(violations, &api.Violation{Object: n.Origin.Ref, Field: n.Field, Code: n.Code, Severity: n.Severity, Message: n.Message})
		}
		report := lint.Find(m, documents, violations, time.Time{}, nil)
		if !slices.ContainsFunc(report.Findings, func(f lint.Finding) bool { return f.Code == c.want && strings.HasPrefix(f.Object, "MeshGuestList") }) {
			t.Errorf("%s: no %s in %+v", name, c.want, report.Findings)
		}
	}
}

// kept is a store whose model is compiled when it is asked for.
type kept struct{ *memory.Store }

func (k kept) Model(context.Context) (*resolve.Model, error) {
	m, _ := resolve.Compile(k.Snapshot(), world.Dialects(), kinds())
	return m, nil
}

// nobody is connected.
type nobody struct{}

func (nobody) Sidecars() []inspect.Sidecar                  { return nil }
func (nobody) Sidecar(api.Ref) (s inspect.Sidecar, ok bool) { return s, false }
func (nobody) Stream(api.Ref) (s sidecars.Stream, ok bool)  { return s, false }

// TestServed: the API writes, lists and describes lists, and says what they come to.
func TestServed(t *testing.T) {
	t.Parallel()
	s := memory.New(snapshot.New(0), nil, time.Now)
	var writes []store.Write
	for _, o := range guarded(t, "STRICT", everybody) {
		if o.Kind != api.KindDataplaneInsight {
			writes = append(writes, store.Write{Put: o})
		}
	}
	if _, _, err := s.Apply(t.Context(), store.Writes(writes...)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Catalog: catalog, Kinds: kinds(), Documents: kept{s}, Sidecars: nobody{},
		Admission: world.Settings{}.Admission(admission.Options{SkipDefaults: true, Now: time.Now}), Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	call := func(method, path, body string) string {
		q, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resp.StatusCode, " ", string(text))
	}
	const list = `{"type":"MeshGuestList","mesh":"default","name":"guests","spec":{"targetRef":{"kind":"Dataplane","name":"backend"},"rules":[{"default":{"guests":%s}}]}}`
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", "/meshes/default/meshguestlists/guests", fmt.Sprintf(list, `[{"under":"spiffe://default/web"}]`), "201 "},
		{"PUT", "/meshes/default/meshguestlists/guests", fmt.Sprintf(list, `[{}]`), "is nobody"},
		{"GET", "/meshes/default/meshguestlists", "", `"name":"guests"`},
		{"GET", "/_resources", "", `"name":"MeshGuestList"`},
		{"GET", "/policies", "", `"MeshGuestList"`},
		{"GET", "/meshes/default/meshguestlists/guests/_resources/dataplanes", "", `"name":"backend"`},
		{"GET", "/meshes/default/_permissions", "", `"origin":{"kind":"MeshTrafficPermission"`},
	} {
		if got := call(c.method, c.path, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.method, c.path, got, c.want)
		}
	}
}
