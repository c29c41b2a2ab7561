package terminal_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/sim/permission"
)

// TestEntriesOfPermissions: each entry that decides who may call is told with its list, what it asks, who says it, and
// who stands in its place; of very many the first, and how many more there are.
func TestEntriesOfPermissions(t *testing.T) {
	t.Parallel()
	by := func(name string) permission.PermissionBy {
		return permission.PermissionBy{Origin: &api.Origin{Ref: api.Ref{Kind: "MeshTrafficPermission", Mesh: "default", Name: name}}, Field: "spec.rules[0]", Layer: "mesh"}
	}
	other := by("other")
	lists := &permission.PermissionLists{
		Deny:  []permission.PermissionEntry{{PermissionBy: by("closed"), Match: map[string]any{"path": "/admin"}, Override: true}},
		Allow: []permission.PermissionEntry{{PermissionBy: by("open"), Match: map[string]any{}, ShadowedBy: other.Origin}},
	}
	for range 23 {
		lists.Shadow = append(lists.Shadow, permission.PermissionEntry{PermissionBy: by("tried"), Match: map[string]any{}})
	}
	var p terminal.Printer
	p.PermissionLists(lists)
	var b strings.Builder
	if err := p.Flush(&b); err != nil {
		t.Fatal(err)
	}
	const tried = "    shadow deny {}  MeshTrafficPermission/default/tried spec.rules[0] (mesh)\n"
	want := "    deny {\"path\":\"/admin\"}  MeshTrafficPermission/default/closed spec.rules[0] (override)\n" +
		"    allow {}  MeshTrafficPermission/default/open spec.rules[0] (mesh); MeshTrafficPermission/default/other stands in its place\n" +
		strings.Repeat(tried, 20) + "    shadow deny 3 more\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
