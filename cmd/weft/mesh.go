package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/resolve"
)

// meshFlag is the mesh that names are looked up in.
func (a *app) meshFlag(c *cobra.Command) {
	c.Flags().StringVarP(&a.mesh, "mesh", "m", cli.UsualMesh(), "mesh that names are looked up in; else WEFT_MESH, else default")
	complete(c, "mesh", a.completeNames("mesh"))
}

// named says of an object that the control plane does not have where to look.
func (a *app) named(ctx context.Context, server *client.Client, t api.Type, name string, err error) error {
	if !client.Missing(err) {
		return err
	}
	return fmt.Errorf("%s: there is no such object; %s`weft get %s` lists those that there are",
		ref(t, a.mesh, name), a.elsewhere(ctx, server, t, name), t.Plural)
}

// inItsWords is an error of the server without the frame around it: what is not
// found is said there as well as it can be.
func (a *app) inItsWords(ctx context.Context, server *client.Client, t api.Type, name string, err error) error {
	var r *client.Refusal
	if !client.Missing(err) || !errors.As(err, &r) {
		return err
	}
	text := strings.TrimPrefix(r.Detail, "Could not retrieve a resource: ")
	if hint := strings.TrimSuffix(a.elsewhere(ctx, server, t, name), "; "); hint != "" {
		text += "; " + hint
	}
	return errors.New(text)
}

// elsewhere says which other meshes hold objects of a kind: all of them, or those
// of one name. It is empty where none does, and where nobody can tell.
func (a *app) elsewhere(ctx context.Context, server *client.Client, t api.Type, name string) string {
	if t.Global {
		return ""
	}
	question := "/" + t.Plural
	if name != "" {
		question += "?name=" + url.QueryEscape(name[strings.LastIndexByte(name, '/')+1:])
	}
	items, err := server.List(ctx, question)
	if err != nil {
		return "" // the failure that is reported is the other one
	}
	held := map[string]int{}
	for _, i := range items {
		full := strings.TrimPrefix(i.Namespace+"/"+i.Name, "/")
		if i.Mesh != a.mesh && (name == "" || i.Name == name || full == name) {
			held[i.Mesh]++
		}
	}
	return withheldText(held)
}

// elsewhereIn is elsewhere for documents of files.
func elsewhereIn(m *resolve.Model, kind, mesh, name string) string {
	held := map[string]int{}
	for o := range m.Snapshot().OfKind(kind) {
		if o.Mesh != mesh && slices.Contains(calledBy(o), name) {
			held[o.Mesh]++
		}
	}
	return withheldText(held)
}

// withheldText is a hint with a semicolon after it.
func withheldText(held map[string]int) string {
	const shown = 5
	switch meshes := slices.Sorted(maps.Keys(held)); {
	case len(meshes) == 0:
		return ""
	case len(meshes) == 1:
		return fmt.Sprintf("mesh %s has %d, give -m %s or set WEFT_MESH; ", meshes[0], held[meshes[0]], meshes[0])
	default:
		var texts []string
		for _, m := range meshes[:min(len(meshes), shown)] {
			texts = append(texts, fmt.Sprintf("%s has %d", m, held[m]))
		}
		if more := len(meshes) - shown; more > 0 {
			texts = append(texts, fmt.Sprintf("and %d meshes more", more))
		}
		return "other meshes have some (" + strings.Join(texts, ", ") + "), give -m MESH or set WEFT_MESH; "
	}
}

// pathInMesh is the path of something of the mesh.
func (a *app) pathInMesh(parts ...string) string {
	path := "/meshes/" + url.PathEscape(a.mesh)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}
