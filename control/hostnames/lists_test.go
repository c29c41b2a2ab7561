package hostnames

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestListsOfNamesAreShared: dataplanes that may call by the same names are told one list,
// in whatever namespace; it stays the same while nothing changes that it follows from, and
// lists that nobody asks for are forgotten.
func TestListsOfNamesAreShared(t *testing.T) {
	t.Parallel()
	decode := func(text string) *api.Object { return worlds.Decode(t, world.Catalog(), text) }
	client := func(namespace string) *api.Object {
		return decode(fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"client-%s","labels":{"k8s.kuma.io/namespace":%q},
			"networking":{"address":"127.0.0.1","transparentProxying":{"redirectPortOutbound":15001}}}`, namespace, namespace))
	}
	a, b := client("a"), client("b")
	m, _ := resolve.CompileIn(api.Zone{Name: "default"}, snapshot.New(1, worlds.External(t, "old"), a, b), world.Dialects(), world.Kinds())
	var l Lists
	names := l.Of(m, a.Ref)
	if len(names.Names) == 0 || l.Of(m, b.Ref) != names || l.Of(m, a.Ref) != names {
		t.Errorf("a and b are told different lists, or nothing: %v", names)
	}
	step := func(changes ...snapshot.Change) {
		m, _ = m.Update(m.Snapshot().With(m.Snapshot().Revision()+1, changes), changes)
	}
	step(snapshot.Change{After: client("d")})
	if l.Of(m, a.Ref) != names {
		t.Error("another dataplane makes the list another")
	}
	step(snapshot.Change{After: worlds.External(t, "new")})
	if now := l.Of(m, a.Ref); now == names || len(now.Names) <= len(names.Names) || l.Of(m, b.Ref) != now {
		t.Errorf("with one service more they are told %v", now)
	}
	for n := range 500 {
		x := client(fmt.Sprint("n", n))
		step(snapshot.Change{After: x})
		if l.Of(m, x.Ref) != l.Of(m, a.Ref) {
			t.Fatal("they are told different lists")
		}
		step(snapshot.Change{Before: x})
	}
	if len(l.known) > 200 || len(l.lists) > 200 {
		t.Errorf("%d lists are kept for callers, and %d in all", len(l.known), len(l.lists))
	}
}

// TestListsOfNamesHoldNoModel: a list that nobody asks for any more does not keep the model
// that it was made from.
func TestListsOfNamesHoldNoModel(t *testing.T) {
	t.Parallel()
	a := worlds.Decode(t, world.Catalog(), `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.1","transparentProxying":{"redirectPortOutbound":15001}}}`)
	var l Lists
	old := func() weak.Pointer[resolve.Model] {
		m, _ := resolve.CompileIn(api.Zone{Name: "default"}, snapshot.New(1, worlds.External(t, "old"), a), world.Dialects(), world.Kinds())
		if len(l.Of(m, a.Ref).Names) == 0 {
			t.Error("there are no names")
		}
		return weak.Make(m)
	}()
	runtime.GC()
	runtime.GC()
	if old.Value() != nil {
		t.Error("the model is kept")
	}
	if len(l.known) != 1 {
		t.Errorf("%d lists", len(l.known))
	}
}
