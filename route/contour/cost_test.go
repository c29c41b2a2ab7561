package contour_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/contour"
)

// TestAChangedLeafIsReadByItsRoots: of a tree of 1,000 objects a changed leaf makes those
// be read again that include it, directly or not, and nobody else.
func TestAChangedLeafIsReadByItsRoots(t *testing.T) {
	t.Parallel()
	const branches, leaves = 10, 99
	leaf := func(name string, status int) string {
		return fmt.Sprintf("---\n{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: %s, namespace: n}, spec: {routes: [{directResponsePolicy: {statusCode: %d}}]}}\n", name, status)
	}
	include := func(name string) string { return fmt.Sprintf("{name: %s, conditions: [{prefix: /%[1]s}]}", name) }
	var text strings.Builder
	var tops []string
	for i := range branches {
		var below []string
		for j := range leaves {
			name := fmt.Sprintf("l%d-%d", i, j)
			text.WriteString(leaf(name, 200))
			below = append(below, include(name))
		}
		fmt.Fprintf(&text, "---\n{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: b%d, namespace: n}, spec: {includes: [%s]}}\n", i, strings.Join(below, ", "))
		tops = append(tops, include(fmt.Sprint("b", i)))
	}
	for _, root := range [][]string{{"r", strings.Join(tops[1:], ", ")}, {"other", tops[0]}} {
		fmt.Fprintf(&text, "---\n{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: %s, namespace: n}, spec: {virtualhost: {fqdn: %[1]s.example}, includes: [%s]}}\n", root[0], root[1])
	}
	var mu sync.Mutex
	var read []string
	counting := contour.Dialect
	counting.Read = func(o *api.Object, see route.Lister) *route.ParsedRoute {
		mu.Lock()
		defer mu.Unlock()
		read = append(read, o.Name)
		return contour.Dialect.Read(o, see)
	}
	objects := func(text string) []*api.Object {
		list, err := decode.Objects(world.Catalog(), "x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	s := snapshot.New(1, objects(text.String())...)
	model, _ := resolve.Compile(s, []route.Dialect{counting}, nil)
	for _, x := range []struct {
		text string
		want []string
	}{
		{leaf("l3-7", 404), []string{"b3", "l3-7", "r"}},
		{leaf("l0-0", 404), []string{"b0", "l0-0", "other"}},
		{leaf("nobodys", 404), []string{"nobodys"}},
	} {
		after := objects(x.text)[0]
		before, _ := model.Snapshot().Get(after.Ref)
		list := []snapshot.Change{{Before: before, After: after}}
		read = nil
		model, _ = model.Update(model.Snapshot().With(model.Snapshot().Revision()+1, list), list)
		slices.Sort(read)
		if diff := cmp.Diff(x.want, read); diff != "" {
			t.Errorf("read again after a change of %s (-want +got):\n%s", after.Name, diff)
		}
	}
}
