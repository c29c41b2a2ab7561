package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/world"
)

const version = "1.2.3"

func load(t *testing.T) *v2.Chart {
	t.Helper()
	c, err := loader.Load("../../deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = version, version // as `helm package` sets them
	return c
}

// byHelm are the manifests that Helm renders, by their names.
func byHelm(c *v2.Chart, namespace, set string) (map[string]string, error) {
	values, err := strvals.Parse(set)
	if err != nil {
		return nil, err
	}
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "weft", Namespace: namespace, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(c, all)
	out := map[string]string{}
	for name, text := range rendered {
		if base := path.Base(name); strings.HasSuffix(base, ".yaml") {
			out[base] = text
		}
	}
	return out, err
}

func documents(t *testing.T, text string) (all []any) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096); ; {
		var v map[string]any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if len(v) > 0 {
			all = append(all, v)
		}
	}
}

// TestHelmRendersTheSame: for the same values both give the same objects.
func TestHelmRendersTheSame(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../control/install/testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	sets := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(sets) < 5 {
		t.Fatalf("%d lines of values", len(sets))
	}
	for _, set := range sets {
		for _, namespace := range []string{"weft-system", "mesh"} {
			want, err := byHelm(load(t), namespace, set)
			if err != nil {
				t.Fatalf("%q: %v", set, err)
			}
			given, err := install.Read(nil, install.SetFlags{Words: set})
			if err != nil {
				t.Fatal(err)
			}
			manifests, err := install.Render(install.Release{Namespace: namespace, Version: version, Service: "Helm"}, given)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, m := range manifests {
				got[m.Name] = string(m.Text)
			}
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if diff := cmp.Diff(documents(t, want[name]), documents(t, got[name])); diff != "" {
					t.Errorf("%q in %s: %s (-Helm +weft):\n%s", set, namespace, name, diff)
				}
			}
			for name := range got {
				if _, ok := want[name]; !ok {
					t.Errorf("%q: Helm has no %s", set, name)
				}
			}
		}
	}
}

// TestSchemaRefusesWhatIsNoValue: Helm says so before it renders anything.
func TestSchemaRefusesWhatIsNoValue(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"replicass=3", "replicas=0", "logLevel=loud", "sidecar.drainTim=3s", "injection.failurePolicy=Maybe", "ha=maybe", "spire.volume=nfs", "spire.mountpath=/x"} {
		if _, err := byHelm(load(t), "weft-system", set); err == nil {
			t.Errorf("Helm takes %s", set)
		}
		if _, err := install.Read(nil, install.SetFlags{Words: set}); err == nil {
			t.Errorf("weft takes %s", set)
		}
	}
}

// TestChartHasTheCustomResources: those of weft's own kinds, all and no others.
func TestChartHasTheCustomResources(t *testing.T) {
	t.Parallel()
	want, got := map[string]any{}, map[string]any{}
	for _, d := range crd.All(world.Catalog(), "dev") {
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		want[d.Metadata.Name] = documents(t, string(raw))[0]
	}
	for _, object := range load(t).CRDObjects() {
		one := documents(t, string(object.File.Data))[0].(map[string]any)
		got[one["metadata"].(map[string]any)["name"].(string)] = one
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
