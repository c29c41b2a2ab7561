package api_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
)

// TestKRIs: the identifier of an object names the zone that the object names, else the zone of the control
// plane; an object outside all meshes is of no zone but one that it names. What is read is what was written.
func TestKRIs(t *testing.T) {
	t.Parallel()
	everywhere := api.NewCatalog(api.Types()...)
	east := everywhere.InZone(api.Zone{Name: "east"})
	service := api.Ref{Kind: api.KindMeshService, Mesh: "default", Namespace: "shop", Name: "web"}
	mesh := api.Ref{Kind: api.KindMesh, Name: "default"}
	west := map[string]string{api.LabelZone: "west"}
	for _, c := range []struct {
		catalog *api.Catalog
		object  api.Object
		want    string
	}{
		{east, api.Object{Ref: service}, "kri_msvc_default_east_shop_web_"},
		{east, api.Object{Ref: service, Labels: west}, "kri_msvc_default_west_shop_web_"},
		{everywhere, api.Object{Ref: service}, "kri_msvc_default__shop_web_"},
		{everywhere, api.Object{Ref: service, Labels: west}, "kri_msvc_default_west_shop_web_"},
		{east, api.Object{Ref: mesh}, "kri_m____default_"},
		{east, api.Object{Ref: mesh, Labels: west}, "kri_m__west__default_"},
		{east, api.Object{Ref: api.Ref{Kind: "Nothing", Name: "a"}}, ""},
	} {
		got := c.catalog.KRI(&c.object)
		if got != c.want {
			t.Errorf("%s %v is %q, want %q", c.object.Ref, c.object.Labels, got, c.want)
		}
		if got == "" {
			continue
		}
		if read, err := c.catalog.ParseKRI(got); err != nil || read.String() != got {
			t.Errorf("%s is read as %s: %v", got, read, err)
		}
	}
}
