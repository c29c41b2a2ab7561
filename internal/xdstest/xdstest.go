// Package xdstest renders what sidecars get as text, for the cases of xds and of the packages below it.
package xdstest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// Sidecars compares everything that sidecars get, to the last field, with
// what each case that matches wants; the comment above a case says what to look at.
func Sidecars(t *testing.T, pattern string) {
	t.Helper()
	cases.Files(t, pattern, func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		for i := range a.Files[1:] {
			wanted := &a.Files[i+1]
			wanted.Data = []byte(sidecarText(t, a.Files[0], wanted.Name))
		}
		return a
	})
}

// sidecarText answers "envoy NAME" and "grpc NAME": what the dataplane gets.
func sidecarText(t *testing.T, docs txtar.File, question string) string {
	t.Helper()
	objects, violations := world.Decode(docs.Name, docs.Data)
	for _, v := range violations {
		if v.Severity == api.Error {
			t.Fatal(v)
		}
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	client, name, _ := strings.Cut(question, " ")
	r, ok := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("no dataplane %q", name)
	}
	x := xds.NewRenderer(world.Kinds())
	render := map[string]func(*effective.Resolved) *resource.State{"envoy": x.Render, "grpc": x.RenderGRPC}[client]
	if render == nil {
		t.Fatalf("%q is neither envoy nor grpc", client)
	}
	return StateText(t, render(r))
}

// StateText is everything of a state: listeners, routes, clusters, endpoints, and notes.
func StateText(t *testing.T, s *resource.State) string {
	t.Helper()
	var out strings.Builder
	for _, list := range [][]*resource.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints} {
		for _, r := range list {
			fmt.Fprintf(&out, "# %s %s", r.Type[strings.LastIndexByte(r.Type, '.')+1:], r.Name)
			if r.EDS {
				out.WriteString(", endpoints apart")
			}
			for _, n := range r.Routes {
				fmt.Fprintf(&out, ", needs routes %s", n)
			}
			for _, n := range r.Clusters {
				fmt.Fprintf(&out, ", needs cluster %s", n)
			}
			out.WriteByte('\n')
			out.WriteString(ResourceText(t, r))
		}
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&out, "# %s: %s %s %s %s\n", n.Origin.Ref, n.Severity, n.Code, n.Field, n.Message)
	}
	return out.String()
}

// ResourceText is the resource as YAML with sorted keys.
func ResourceText(t *testing.T, r *resource.Resource) string {
	t.Helper()
	m, err := r.Content().UnmarshalNew()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(tree); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
