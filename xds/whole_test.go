package xds_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
)

// TestWholeSidecars compares everything that sidecars get, to the last field, with
// what each case under testdata/sidecars wants; the comment above a case says
// what to look at.
func TestWholeSidecars(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/sidecars/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(archive.Files); i++ {
				wanted := &archive.Files[i]
				got := sidecarText(t, archive.Files[0], wanted.Name)
				if *update {
					wanted.Data = []byte(got)
				}
				if d := cmp.Diff(string(wanted.Data), got); d != "" {
					t.Errorf("%s (-want +got; -update writes it):\n%s", wanted.Name, d)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
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
	render := map[string]func(*resolve.Resolved) *xds.State{"envoy": x.Render, "grpc": x.RenderGRPC}[client]
	if render == nil {
		t.Fatalf("%q is neither envoy nor grpc", client)
	}
	return stateText(t, render(r))
}

func stateText(t *testing.T, s *xds.State) string {
	t.Helper()
	var out strings.Builder
	for _, list := range [][]*xds.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints} {
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
			out.WriteString(resourceText(t, r))
		}
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&out, "# %s: %s %s %s %s\n", n.Origin.Ref, n.Severity, n.Code, n.Field, n.Message)
	}
	return out.String()
}

// resourceText is the resource as YAML with sorted keys.
func resourceText(t *testing.T, r *xds.Resource) string {
	t.Helper()
	m, err := r.Any.UnmarshalNew()
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
