package differential

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// number reads an environment variable that Makefile targets set.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// How many pairs are compared: usual in make test, where WEFT_DIFF_PAIRS is not set. From shortRun on
// verdicts that say that they do not know are sometimes wrong too; longRun fills every cell of the
// grid, of which the rarest has some 35 of them. make fuzz compares as many.
const (
	usual    = 1000
	shortRun = 5000
	longRun  = 50_000
)

// TestSimAgreesWithEnvoy holds for WEFT_DIFF_PAIRS random pairs of seed WEFT_DIFF_SEED.
func TestSimAgreesWithEnvoy(t *testing.T) {
	t.Parallel()
	pairs := int(number(t, "WEFT_DIFF_PAIRS", usual))
	grid := NewGrid()
	reports := Run(t, byDocuments, number(t, "WEFT_DIFF_SEED", 1), pairs, grid)
	for _, r := range reports {
		t.Errorf("a disagreement; keep it in testdata once it is understood:\n%s", r)
	}
	t.Logf("%d pairs, %d lines of all fleets so far\n%s", pairs, linesChecked.Load(), grid)
	if n := linesChecked.Load(); n < uint64(pairs)/2 {
		t.Errorf("%d of %d requests have lines", n, pairs)
	}
	if idle := grid.Idle(); pairs >= shortRun && len(idle) > 0 {
		t.Errorf("verdicts say that they do not know, and are right whenever they do: %q", idle)
	}
	if cell, n := grid.Least(); pairs >= longRun && len(reports) == 0 && n < 10 { // a report ends the run
		t.Errorf("cell %s has %d pairs, want 10", cell, n)
	}
}

// TestTablesAgreeWithEnvoy is the same for routes that no document can write, with a
// fifth of the pairs.
func TestTablesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	held(t, byTables)
}

// TestHTTPProxiesAgreeWithEnvoy is the same for trees of HTTPProxies.
func TestHTTPProxiesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	held(t, byProxies)
}

// TestGroupsAgreeWithEnvoy is the same for RouteGroups.
func TestGroupsAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	held(t, byGroups)
}

// TestMixturesAgreeWithEnvoy is the same for meshes with all languages in them.
func TestMixturesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	held(t, byMixtures)
}

// TestSimAgreesWithEnvoyAtEdges: an edge dataplane does to requests from outside the mesh
// what the simulator says.
func TestSimAgreesWithEnvoyAtEdges(t *testing.T) {
	t.Parallel()
	held(t, byEdges)
}

// held compares a fifth of the pairs about a theme, and says what they were about.
func held(t *testing.T, about theme) {
	t.Helper()
	pairs, grid := int(number(t, "WEFT_DIFF_PAIRS", usual))/5, NewGrid()
	for _, r := range Run(t, about, number(t, "WEFT_DIFF_SEED", 1), pairs, grid) {
		t.Errorf("a disagreement; keep it in testdata once it is understood:\n%s", r)
	}
	t.Logf("%d pairs\n%s", pairs, grid)
}

// TestAdmittedMeansAccepted: whatever apply admits, an Envoy takes: everything
// that every sidecar of random worlds holds, in one file for all.
func TestAdmittedMeansAccepted(t *testing.T) {
	t.Parallel()
	worlds, _ := drawPairs(t, byDocuments, 11, 0, 60)
	renderer := xds.NewRenderer(world.Kinds())
	var states []*resource.State
	for _, source := range worlds {
		w, err := compile(source)
		if err != nil {
			t.Fatal(err)
		}
		for r := range w.Dataplanes("default") {
			s := renderer.Render(r)
			for _, n := range s.Notes {
				if n.Code == "Rejected" {
					t.Errorf("%s: admitted, but %s", n.Origin.Ref, n.Message)
				}
			}
			states = append(states, s)
		}
	}
	if err := envoytest.ValidateStates(t, states); err != nil {
		t.Error(err)
	}
}

// TestKeptCases: what once disagreed agrees.
func TestKeptCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []Pair
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var p Pair
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		cases = append(cases, p)
	}
	if len(cases) == 0 {
		t.Fatal("no case in testdata")
	}
	for i, said := range Replay(t, newRoom(t, workloadNames...), cases) {
		if said != "" {
			t.Errorf("%s: %s", files[i], said)
		}
	}
}
