package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// asked explains a-1 of the inspecttest.Street, narrowed by f.
func asked(t *testing.T, f explain.Narrowing) (explain.Explanation, error) {
	t.Helper()
	e, err := explain.Of(inspecttest.Model(t, inspecttest.Street), inspecttest.Plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	return e.Only(f)
}

// Whatever is asked for, what is said of it is what the whole says, and nothing
// else is said.
func TestAFilterSaysOnlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	whole, err := asked(t, explain.Narrowing{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []explain.Narrowing{{Field: "http.numRetries"}, {Field: "http"}, {Kind: "MeshRetry"}, {Kind: "MeshRetry", Field: "http.numRetries"}} {
		e, err := asked(t, f)
		if err != nil {
			t.Fatal(err)
		}
		fields := 0
		for _, o := range e.Outbounds {
			for _, r := range o.Routes {
				for kind, p := range r.Policies {
					for field := range p.Why {
						fields++
						if f.Kind != "" && kind != f.Kind || f.Field != "" && field != f.Field && !strings.HasPrefix(field, f.Field+".") {
							t.Errorf("%+v: %s %s is said", f, kind, field)
						}
					}
				}
			}
		}
		if fields == 0 || len(e.Outbounds) > len(whole.Outbounds) {
			t.Errorf("%+v: %d fields of %d outbounds", f, fields, len(e.Outbounds))
		}
	}
}

// Of a route all its rules are said, wherever they stand among those of others.
func TestAFilterByRoute(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, `
{type: Dataplane, mesh: default, name: a-1, networking: {address: 127.0.0.1, outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: MeshHTTPRoute, mesh: default, name: near, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: Exact, value: /a/b}}], default: {}}, {matches: [{path: {type: PathPrefix, value: /}}], default: {}}]}]}}
---
{type: MeshHTTPRoute, mesh: default, name: far, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /a}}], default: {}}]}]}}
`)
	e, err := explain.Of(m, inspecttest.Plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	for route, want := range map[string]string{"near": "/a/b /", "MeshHTTPRoute/far": "/a"} {
		only, err := e.Only(explain.Narrowing{Route: route})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range only.Outbounds[0].Routes {
			_, path, _ := strings.Cut(r.Matches[0].Short(), " ")
			got = append(got, path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %s the rules for %q are said, want %s", route, got, want)
		}
	}
}

// What is not there is an error that names what comes near.
func TestAFilterThatFindsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter explain.Narrowing
		want   string
	}{
		{explain.Narrowing{Field: "http.numRetris"}, "did you mean http.numRetries"},
		{explain.Narrowing{Field: "http.num"}, "field with a value on a-1 http.num: not found"},
		{explain.Narrowing{Route: "nothing"}, "route on a-1 nothing: not found"},
		{explain.Narrowing{Kind: "MeshRetry", Policy: "nobody"}, "nothing of MeshRetry/nobody applies"},
	} {
		if _, err := asked(t, c.filter); !errors.Is(err, inspect.ErrNotFound) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.filter, err)
		}
	}
}

// A short text is shorter, says what it leaves out, and says of a sidecar that is
// away that it is.
func TestAShortText(t *testing.T) {
	t.Parallel()
	e, err := asked(t, explain.Narrowing{})
	if err != nil {
		t.Fatal(err)
	}
	text := func(s terminal.Style) string {
		var b strings.Builder
		if err := explain.Text(&b, e, s); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	short, full := text(terminal.Style{Short: true}), text(terminal.Style{})
	if strings.Count(short, "\n") >= strings.Count(full, "\n") || strings.Contains(short, "Not applied") || !strings.Contains(short, "1 object that does not apply; --all shows them") {
		t.Errorf("%s\nof\n%s", short, full)
	}
	away, there := false, true
	for _, c := range []struct {
		connected *bool
		acked     uint64
		want      string
	}{
		{nil, 0, ""},
		{&there, 23, ", its Envoy has 23"},
		{&away, 23, ", its sidecar is not connected; its Envoy had 23 when it was last seen"},
		{&away, 0, ", its sidecar is not connected"},
	} {
		e.Connected, e.Acked = c.connected, c.acked
		head, _, _ := strings.Cut(text(terminal.Style{}), "\n")
		if want := fmt.Sprintf("Dataplane a-1  revision %d%s", e.Revision, c.want); head != want {
			t.Errorf("%q, want %q", head, want)
		}
	}
}
