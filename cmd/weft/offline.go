package main

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
)

// offline is a world that consists of files.
type offline struct {
	model *resolve.Model
	left  []api.Note // why documents were left out
}

// offline reads and resolves documents. Invalid ones stay out and are said on
// stderr; strict refuses them.
func (a *app) offline(files []string, strict bool) (*offline, error) {
	reading, err := a.read(files)
	if err != nil {
		return nil, err
	}
	w := &offline{}
	for _, v := range reading.Violations {
		fmt.Fprintln(a.err, oneLine(v.Error()))
		w.left = append(w.left, leftOut(v))
	}
	if strict && len(reading.Violations) > 0 {
		return nil, invalid(nil)
	}
	w.model, _ = world.Compile(world.Snapshot(reading.Objects...))
	return w, nil
}

// dataplane is what holds for one dataplane.
func (w *offline) dataplane(mesh, name string) (*resolve.Resolved, error) {
	ref := api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name}
	if r, ok := w.model.Dataplane(ref); ok {
		return r, nil
	}
	var names []string
	for o := range w.model.Snapshot().Of(api.KindDataplane, mesh) {
		if o.DisplayName() == name {
			if r, ok := w.model.Dataplane(o.Ref); ok {
				return r, nil
			}
		}
		names = append(names, o.Name)
	}
	hint := "the documents hold no Dataplane of that mesh"
	if near := api.Nearest(name, names, 3); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	} else if len(names) > 0 {
		hint = "there are " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return nil, fmt.Errorf("%s: there is no such object; %s", ref, hint)
}
