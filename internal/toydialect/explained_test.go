package toydialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/toydialect"
)

// TestExplained: who says what, in the order of strength, on the merged rules and
// of the objects.
func TestExplained(t *testing.T) {
	t.Parallel()
	m := compile(t, 10080, 8081, 8082)
	e, err := explain.Of(m.Reader(nil), client, "")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := explain.Text(&text, e, terminal.Style{Short: true}); err != nil {
		t.Fatal(err)
	}
	if len(e.Notes) != 5 {
		t.Errorf("notes: %v", e.Notes)
	}
	for _, want := range []string{
		"answer 418 with 5 bytes", "ToyRoute/shop rule 1 over ToyRoute/tail rule lost", "included by ToyRoute/shop includes[0]",
		"requestTimeout", "answer 404", "WebSockets are refused with 403", "WebSockets pass",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	said := func(host, route, field string) string {
		at := slices.IndexFunc(e.Outbounds, func(o explain.Outbound) bool { return o.Destination.Name == host })
		var out []string
		for _, r := range e.Outbounds[at].Routes {
			if r.Name == route {
				for _, s := range r.Policies["MeshTimeout"].Why[field] {
					out = append(out, fmt.Sprintf("%s %s %s", s.Layer, s.Origin.Name, s.Origin.Field))
				}
			}
		}
		return strings.Join(out, "; ")
	}
	const shop = "shop.example.org"
	for _, c := range [][4]string{
		{shop, "toy /", "http.requestTimeout", "default  ; inline shop spec.rules[0].timeout; route on-shop spec.to[0]"},
		{shop, "toy /cart/pay", "http.requestTimeout", "default  ; include on-shop spec.to[0]; rule on-pay spec.to[0]"},
		{shop, "toy /cart/pay", "http.streamIdleTimeout", "default  ; include on-shop spec.to[0]"},
		{shop, "toy /twice", "http.requestTimeout", "default  ; route on-shop spec.to[0]"},
		{shop, "toy /missing", "http.requestTimeout", ""},
		{"api.example.org", "toy-none", "http.requestTimeout", ""},
	} {
		if got := said(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%s %s: %q, want %q", c[1], c[2], got, c[3])
		}
	}
}

// TestKumasViews: Kuma's clients are told of a sidecar that calls hosts too.
func TestKumasViews(t *testing.T) {
	t.Parallel()
	m := compile(t, 10080, 8081, 8082).Reader(nil)
	layout, err := kuma.LayoutOf(m, catalog, client)
	if err != nil || len(layout.Outbounds) != 4 {
		t.Errorf("%v: outbounds %v", err, layout.Outbounds)
	}
	for name, err := range map[string]error{
		"rules":  second(kuma.Rules(m, catalog, client)),
		"legacy": second(kuma.Legacy(m, client)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestStatus: each object has its conditions, and the language's own form of them.
func TestStatus(t *testing.T) {
	t.Parallel()
	m := compile(t, 10080, 8081, 8082)
	got := map[string]string{}
	for _, s := range conditions.OverviewOf(m.Reader(nil), "default", nil).Objects {
		if s.Ref.Kind == toydialect.Kind {
			got[s.Ref.Name] = fmt.Sprintf("%s %s: %v", s.Conditions[0].Reason, s.Conditions[1].Reason, s.Own)
			one, err := conditions.StatusOf(m.Reader(nil), s.Ref, nil)
			if diff := cmp.Diff(s.Own, one.Own); err != nil || diff != "" {
				t.Errorf("%s alone: %v %s", s.Ref.Name, err, diff)
			}
			explained, err := conditions.ExplainObject(m.Reader(nil), s.Ref, nil)
			if diff := cmp.Diff(s.Own, explained.Own); err != nil || diff != "" {
				t.Errorf("%s explained: %v %s", s.Ref.Name, err, diff)
			}
		}
	}
	want := map[string]string{
		"shop": "IncludeCycle BackendNotFound: {broken [IncludeCycle IncludeNotFound BackendNotFound BackendNotFound]}",
		"team": "IncludeCycle BackendNotFound: {broken [IncludeCycle IncludeNotFound BackendNotFound BackendNotFound]}",
		"tail": "Accepted ResolvedRefs: {waiting []}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
