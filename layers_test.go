// Package weft_test keeps the architecture: which package may import which.
package weft_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/weftmesh/weft/"

// layers is the architecture from the bottom up: a package may import only
// packages of lines above its own, and where a line says so packages of its own
// line. A name with a slash-star stands for every package below it.
var layers = []string{
	"deploy api/template api/redact api/nearest api/tuple api/unsupported",
	"api/hostname api/spiffe",
	"api",
	"api/jsonschema api/snapshot api/syntax",
	"api/decode api/crd",
	"merge",
	"matcher",
	"route/match/re2",
	"route/match",
	"route",
	"route/skipper/eskip",
	"route/*",
	"convert",
	"store",
	"policies",
	"resolve/derive",
	"resolve/effective",
	"resolve/pods resolve/vips",
	"resolve/index",
	"resolve/identity",
	"resolve/hostnames",
	"resolve/services",
	"resolve/routing",
	"resolve/reachability",
	"resolve/tables",
	"resolve/authorization",
	"resolve/dataplanes",
	"resolve/impact resolve/conditions",
	"resolve",
	"sim/wire",
	"sim/permission sim/timeline sim/lookup sim/faults sim/buckets sim/balance",
	"sim",
	"xds/bootstrap",
	"xds/naming",
	"xds/envoy",
	"xds/resource xds/matchers xds/backends xds/origin xds/check",
	"xds/filters xds/secrets xds/endpoints",
	"xds/routes xds/clusters",
	"xds/listeners xds/proxyless xds/bootstrap/render",
	"xds",
	"policies/accesslog/format",
	"policies/*",
	"inspect/terminal",
	"inspect inspect/traffic",
	"inspect/notes",
	"inspect/mtls",
	"inspect/explain inspect/permissions",
	"inspect/conditions",
	"inspect/kuma/insights inspect/plan/step",
	"inspect/plan/access",
	"inspect/kuma inspect/lint inspect/plan",
	"files",
	"store/*",
	"store/kube/writing",
	"sidecar/intercept sidecar/attach",
	"inspect/seen",
	"inspect/web/ui",
	"xds/server/authority/workload xds/server/authority/spire",
	"xds/server/authority/rotation",
	"sidecar/probes",
	"sidecar/inject",
	"sidecar/inject/documents",
	"control/admission",
	"inspect/web/httpapi",
	"inspect/web/endpoint inspect/web/rights",
	"inspect/web/objects",
	"inspect/web/events inspect/web/tokens inspect/web/schemas inspect/web/sidecars",
	"inspect/web/certificates",
	"inspect/web/changes",
	"inspect/web/documents inspect/web/envoys inspect/web/questions inspect/web/requests",
	"xds/server/codec xds/server/truncate",
	"xds/server/authn xds/server/streams",
	"xds/server/syncstatus",
	"xds/server/subscription",
	"xds/server/nack",
	"xds/server/push",
	"inspect/web xds/server/* xds/server sidecar/*",
	"control/world",
	"control/install",
	"control/authorities control/identity control/webhook control/roots control/status control/uninjected control/peers control/telemetry control/traffic",
	"control/storage",
	"control/reconcile",
	"control/auth",
	"control/config control/process control/hostnames control/connections",
	"control/bootstrap control/issuer",
	"control/mtls",
	"control/leader",
	"control/owned",
	"control/services control/mirror",
	"control/stores",
	"control",
	"examples",
	"cmd/internal/cli",
	"cmd/internal/sidecarcmd",
	"cmd/*",
}

// support packages serve tests and generators; no program imports them.
var support = []string{"internal/", "policies/internal/policytest", "policies/internal/gen", "policies/internal/reference", "hack/"}

// homes names the only places of heavy imports.
var homes = map[string][]string{
	"github.com/envoyproxy/go-control-plane/envoy":      {"xds", "policies/", "sidecar/identity", "sidecar/accesslog", "sidecar/callers", "sidecar/discovery", "sidecar/headers", "sidecar/requests", "internal/", "hack/"},
	"github.com/envoyproxy/go-control-plane/pkg/server": {"xds/server"},
	"github.com/envoyproxy/go-control-plane/pkg/cache":  {"xds/server"},
	"k8s.io/":                {"store/kube", "sidecar/inject", "control/identity", "control/webhook", "control/roots", "control/install", "control/stores", "cmd/weft/internal/", "internal/", "hack/chart"},
	"sigs.k8s.io/":           {"route/gateway", "sidecar/inject"},
	"github.com/spf13/cobra": {"cmd/", "internal/commandpages"},
	"go.etcd.io/bbolt":       {"store/bolt"},
	"github.com/spiffe":      {"xds/server/authority/spire", "internal/"},
	"go.yaml.in/yaml":        {"api/decode", "api/syntax", "cmd/", "sidecar/agent", "hack/published", "internal/corpus", "internal/xdstest"},
}

// knowStores are the imports by which others than control/stores, which opens the store that a configuration
// names, and the stores themselves know one store from another, and why: all others ask the interfaces of
// package store.
var knowStores = map[string]string{
	"cmd/weft store/bolt":                   "weft store check and export read its file, of a control plane that does not run",
	"control store/file":                    "--dir is put into any store",
	"control/world store/file":              "--dir is read without a store",
	"control/roots store/kube":              "the Secret of the authority",
	"control/webhook store/kube":            "configurations of webhooks",
	"control/status store/kube":             "statuses of objects",
	"control/status store/kube/writing":     "the same, written",
	"control/owned store/kube":              "objects that others own",
	"control/owned store/kube/writing":      "the same, written",
	"control/services store/kube":           "Services, which are a cluster's",
	"control/services store/kube/writing":   "the same, written",
	"control/uninjected store/kube/writing": "events of pods",
}

// forbidden are imports of ours that a package does without although they are
// below it: Kuma's views show what was selected, and select nothing themselves.
var forbidden = map[string][]string{"inspect/kuma": {"matcher"}}

// impure are imports that the core, all layers up to inspect/kuma, does without.
var impure = []string{"context", "log/slog", "os", "os/exec", "math/rand", "math/rand/v2", "unsafe"}

// exceptional are imports that the core does without but for these packages and files:
// locks where something keeps what is derived from a shared value, beside it and never
// in it, or makes a constant table at its first use; reflection where documents are read, compared and described, and where a
// change may have left a value equal.
var exceptional = map[string][]string{
	"sync":        {"api/decode/fields.go", "resolve/cache.go", "resolve/derive/ondemand.go", "resolve/effective/cache.go", "route/match/reading.go", "xds/resource/contents.go", "xds/resource/weak.go", "xds/routes/hosts.go"},
	"sync/atomic": {"resolve/cache.go", "resolve/effective/cache.go"},
	"reflect":     {"api/crd", "api/decode", "api/jsonschema", "policies", "resolve/derive", "resolve/pods"},
}

// clock are the functions of package time by which results would depend on when
// they are asked for. Durations are values like others.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

type pkg struct {
	ImportPath, Dir  string
	Imports, GoFiles []string
	Export           string // file of its export data
}

// listed are our packages and all that they need, with their export data: asked for once.
var listed = sync.OnceValues(func() (all []pkg, err error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,Export", "-export", "-deps", "./...").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	} else if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// own are our packages.
var own = sync.OnceValues(func() (ours []pkg, err error) {
	all, err := listed()
	for _, p := range all {
		if strings.HasPrefix(p.ImportPath+"/", module) {
			ours = append(ours, p)
		}
	}
	return ours, err
})

func packages(t *testing.T) []pkg {
	t.Helper()
	ours, err := own()
	if err != nil {
		t.Fatal(err)
	}
	return ours
}

// source is one file of a package, without its tests.
type source struct {
	name string
	tree *ast.File
}

// parsed are the files of our packages by the package's path, at positions: parsed once.
var parsed = sync.OnceValues(func() (map[string][]source, error) {
	ours, err := own()
	if err != nil {
		return nil, err
	}
	files := map[string][]source{}
	for _, p := range ours {
		for _, name := range p.GoFiles {
			tree, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files[p.ImportPath] = append(files[p.ImportPath], source{name, tree})
		}
	}
	return files, nil
})

var positions = token.NewFileSet()

// sources are the files of one package of ours.
func sources(t *testing.T, p pkg) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all[p.ImportPath]
}

// layer is the line of a package, -1 for none. The longest name wins.
func layer(name string) int {
	found, length := -1, -1
	for i, line := range layers {
		for _, word := range strings.Fields(line) {
			below, star := strings.CutSuffix(word, "/*")
			if (name == word || star && strings.HasPrefix(name, below+"/")) && len(word) > length {
				found, length = i, len(word)
			}
		}
	}
	return found
}

func isSupport(name string) bool {
	for _, s := range support {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

func TestImportsPointDown(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || isSupport(name) {
			continue
		}
		mine := layer(name)
		if mine < 0 {
			t.Errorf("%s stands in no layer; add it to the picture", name)
			continue
		}
		seen++
		for _, i := range p.Imports {
			dep, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			if slices.Contains(forbidden[name], dep) {
				t.Errorf("%s imports %s, whose questions are answered below it", name, dep)
			}
			family := strings.Contains(layers[mine], "/*") && layer(dep) == mine && strings.Split(dep, "/")[0] == strings.Split(name, "/")[0]
			if isSupport(dep) {
				t.Errorf("%s imports %s, which only tests may", name, dep)
			} else if !isSupport(dep) && layer(dep) >= mine && !family {
				t.Errorf("%s imports %s, which is not below it", name, dep)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d packages were looked at", seen)
	}
}

// agentWithout are packages that weft-agent does without, directly and by others: a sidecar is
// told what holds, and decides nothing.
var agentWithout = []string{module + "resolve", module + "policies", module + "route", module + "control", module + "inspect", module + "store", "github.com/envoyproxy/go-control-plane/pkg/", "k8s.io/", "sigs.k8s.io/"}

func TestAgentIsSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/weft-agent").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, module+"sidecar/agent") {
		t.Fatalf("it is no agent: %d packages", len(all))
	}
	for _, p := range all {
		if anyPrefix(p, agentWithout) {
			t.Errorf("cmd/weft-agent depends on %s; move what the agent needs of it into a package below", p)
		}
	}
}

func TestHeavyImportsStayAtHome(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			for heavy, at := range homes {
				if strings.HasPrefix(i, heavy) && !anyPrefix(name, at) {
					t.Errorf("%s imports %s, which belongs to %s", name, i, strings.Join(at, ", "))
				}
			}
		}
	}
}

func TestStoresAreToldApartInOnePlace(t *testing.T) {
	importedOnlyBy(t, knowStores, "have control/stores open it, and ask an interface of package store", func(name, dep string) bool {
		return strings.HasPrefix(dep, "store/") && !strings.HasPrefix(name, "store/") && name != "control/stores"
	})
}

// importedOnlyBy holds that the imports among our packages that are meant are those that are excepted, as importer
// and imported with a space between them, and that no exception is stale.
func importedOnlyBy(t *testing.T, excepted map[string]string, instead string, meant func(name, dep string) bool) {
	t.Helper()
	found := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			if dep, ours := strings.CutPrefix(i, module); ours && !isSupport(name) && meant(name, dep) {
				found[name+" "+dep] = true
			}
		}
	}
	for what := range found {
		if excepted[what] == "" {
			t.Errorf("%s: %s", what, instead)
		}
	}
	for what := range excepted {
		if !found[what] {
			t.Errorf("%s: it is no import any more; take the exception away", what)
		}
	}
}

func TestCoreIsPure(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if l := layer(name); l < 0 || l > layer("inspect/kuma") || name == "store" || strings.Contains(name, "/internal/") || isSupport(name) {
			continue
		}
		for _, i := range p.Imports {
			if slices.Contains(impure, i) {
				t.Errorf("%s imports %s, but the core is pure", name, i)
			}
		}
		for _, f := range sources(t, p) {
			for _, at := range readsClock(f.tree) {
				t.Errorf("%s: the core has no clock", at)
			}
			for _, spec := range f.tree.Imports {
				i := strings.Trim(spec.Path.Value, `"`)
				allowed, restricted := exceptional[i]
				if restricted && !slices.Contains(allowed, name) && !slices.Contains(allowed, name+"/"+f.name) {
					t.Errorf("%s/%s imports %s, which only %s may", name, f.name, i, strings.Join(allowed, ", "))
				}
				used[i+" "+name], used[i+" "+name+"/"+f.name] = restricted, restricted
			}
		}
	}
	for i, names := range exceptional {
		for _, name := range names {
			if !used[i+" "+name] {
				t.Errorf("%s does without %s: take the exception away", name, i)
			}
		}
	}
}

// readsClock lists the places of a file that ask what time it is.
func readsClock(tree *ast.File) []string {
	var places []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, s.Sel.Name) {
				places = append(places, positions.Position(s.Pos()).String())
			}
		}
		return true
	})
	return places
}

func anyPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if name == p || strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
