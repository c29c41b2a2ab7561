package decode_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/anyspec"
)

var ignoreSource = cmpopts.IgnoreFields(api.Object{}, "Source")

// Whatever an object holds, reading what was printed gives it again.
func TestDecodeUndoesPrint(t *testing.T) {
	t.Parallel()
	c := anyspec.Catalog(api.Types()...)
	for _, typ := range c.Types() {
		t.Run(typ.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				o := anyspec.Own{}.Object(t, typ)
				o.Created = time.Unix(0, rapid.Int64Range(0, 1<<60).Draw(t, "created")).UTC()
				if typ.Secret || typ.Cluster && !typ.Global { // which have the envelope of Kubernetes
					o.Namespace = "ns-1"
				}
				if typ.Meta && rapid.Bool().Draw(t, "meta") {
					o.Meta = &api.Meta{Annotations: map[string]string{"80.service.kuma.io/protocol": "http"}}
				}
				if typ.Meta && typ.Cluster && o.Meta != nil {
					o.Meta.UID, o.Meta.Deleting = "u-1", rapid.Bool().Draw(t, "deleting")
					o.Meta.Owners = []api.OwnerReference{{Kind: "Job", Name: "nightly-1", Controller: true}, {Kind: "X", Name: "x"}}
				}
				checkPrint(t, c, o)
			})
		})
	}
}

func checkPrint(t *rapid.T, c *api.Catalog, o *api.Object) {
	for _, print := range []func(*api.Catalog, *api.Object) ([]byte, error){decode.PrintJSON, decode.PrintYAML} {
		text, err := print(c, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode.One(c, "", text, o.Ref)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if typ, _ := c.Type(o.Kind); typ.Secret || typ.Cluster {
			delete(again.Labels, api.LabelMesh)
			if len(again.Labels) == 0 {
				again.Labels = nil
			}
		}
		if diff := cmp.Diff(o, again, ignoreSource); diff != "" {
			t.Fatalf("%s\nin\n%s", diff, text)
		}
	}
}

// What the Kubernetes form holds is what the universal form holds.
func TestKubernetesFormReadsBack(t *testing.T) {
	t.Parallel()
	c := anyspec.Catalog(api.Types()...)
	typ, _ := c.Type(api.KindMeshService)
	rapid.Check(t, func(t *rapid.T) {
		o := anyspec.Own{}.Object(t, typ)
		o.Namespace = "ns-1"
		text, err := decode.PrintKubernetes(c, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode.One(c, "", text, o.Ref)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		delete(again.Labels, api.LabelMesh)
		if diff := cmp.Diff(o, again, ignoreSource, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\nin\n%s", diff, text)
		}
	})
}

func TestPrintedShape(t *testing.T) {
	t.Parallel()
	c := api.NewCatalog(api.Types()...)
	objects, err := decode.Objects(c, "", []byte(`
type: Dataplane
name: web-1
labels: {kuma.io/zone: east, app: "on"}
networking:
  address: 10.0.0.1
  inbound: [{port: 8080, tags: {kuma.io/service: web}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode.PrintYAML(c, objects[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `type: Dataplane
mesh: default
name: web-1
labels:
  app: "on"
  kuma.io/zone: east
kri: kri_dp_default_east__web-1_
networking:
  address: 10.0.0.1
  inbound:
    - port: 8080
      tags:
        kuma.io/service: web
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestKRI(t *testing.T) {
	t.Parallel()
	c := api.NewCatalog(api.Types()...)
	for text, want := range map[string]api.KRI{
		"kri_dp_default___web-1_":         {Short: "dp", Mesh: "default", Name: "web-1"},
		"kri_msvc_m_east_ns_web_http":     {Short: "msvc", Mesh: "m", Zone: "east", Namespace: "ns", Name: "web", Section: "http"},
		"kri_msvc_m_east_ns_web_rule_0":   {Short: "msvc", Mesh: "m", Zone: "east", Namespace: "ns", Name: "web", Section: "rule0"},
		"kri_m_____":                      {Short: "m"},
		"kri_dp_default__k8s-ns_web-1.a_": {Short: "dp", Mesh: "default", Namespace: "k8s-ns", Name: "web-1.a"},
	} {
		if got, err := c.ParseKRI(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "kri_dp_default_", "kir_dp_default___web-1_", "kri_xx_default___web-1_", "kri_dataplane_default___web-1_"} {
		if _, err := c.ParseKRI(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
