package policies_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
)

// groupsConf has two fields of one group, and one of another.
type groupsConf struct {
	Most  *uint32 `json:"most,omitempty" weft:"listener,bounds"`
	Least *uint32 `json:"least,omitempty" weft:"listener,bounds"`
	Apart *uint32 `json:"apart,omitempty" weft:"listener,others"`
}

func (*groupsConf) Validate(api.Path) error { return nil }

// TestDefaultsCompleteWhatIsSaid: whoever says a field gets the defaults of its group beside it, nothing of groups of
// which nobody says anything, and nothing at all where no field is said.
func TestDefaultsCompleteWhatIsSaid(t *testing.T) {
	t.Parallel()
	plain := func() *policies.Kind {
		return &policies.Kind{Name: "MeshGroups", New: func() policies.Conf { return new(groupsConf) }, Schema: policies.SchemaOf[groupsConf]()}
	}
	completing := plain()
	completing.Defaults = func() policies.Conf {
		return &groupsConf{Most: new(uint32(1)), Least: new(uint32(2)), Apart: new(uint32(3))}
	}
	for _, c := range []struct {
		kind       *policies.Kind
		said, want *groupsConf
	}{
		{completing, &groupsConf{Most: new(uint32(9))}, &groupsConf{Most: new(uint32(9)), Least: new(uint32(2))}},
		{completing, &groupsConf{Apart: new(uint32(9))}, &groupsConf{Apart: new(uint32(9))}},
		{completing, &groupsConf{}, nil},
		{plain(), &groupsConf{Most: new(uint32(9))}, &groupsConf{Most: new(uint32(9))}},
	} {
		var got *groupsConf
		if e := c.kind.Resolve([]merge.Layer{{Name: merge.Mesh, Origin: &api.Origin{}, Leaves: c.kind.Schema.Read(c.said)}}); e != nil {
			got = e.Conf.(*groupsConf)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.said, diff)
		}
	}
}
