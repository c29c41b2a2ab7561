package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/xds/filters"
)

// offline is a world that consists of files.
type offline struct {
	model *resolve.Model
	left  []api.Note // what is not as the documents say: left out, or added
}

// offline reads and resolves documents. Invalid ones stay out and are said on
// stderr; strict refuses them.
func (a *app) offline(files []string, strict bool) (*offline, error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	reading, err := a.read(files)
	if err != nil {
		return nil, err
	}
	reading.Violations = world.WarnOfOthers(reading.Violations)
	w := &offline{}
	for _, v := range reading.Violations {
		fmt.Fprintln(a.err, oneLine(v.Error()))
		w.left = append(w.left, leftOut(v))
	}
	if strict && len(reading.Violations) > 0 {
		return nil, invalid(nil)
	}
	snapshot, added := world.Complete(reading.Objects...)
	for _, o := range added {
		if o.Mesh == a.mesh {
			w.left = append(w.left, api.Note{Origin: &api.Origin{Ref: o.Ref}, Severity: api.Info, Code: "DefaultPolicy",
				Message: "no document says so; it comes with the mesh, as on a control plane: name its type in skipCreatingInitialPolicies of the Mesh to go without"})
		}
	}
	w.model, _ = settings.Compile(snapshot)
	return w, nil
}

// settingsFlags are those of `weft serve` on which it depends what documents mean.
func (a *app) settingsFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.extAuthz, "ext-authz", "", "with -f: as a control plane that has this authorization service, grpc://HOST:PORT")
	c.Flags().BoolVar(&a.meshGrants, "require-reference-grants", false, "with -f: as a control plane where routes with Services as parents need ReferenceGrants too")
	c.Flags().StringSliceVar(&a.backendAddresses, "backend-addresses", nil, "with -f: as a control plane where RouteGroups may send to these hosts alone")
	c.Flags().StringSliceVar(&a.rootNamespaces, "httpproxy-root-namespaces", nil, "with -f: as a control plane where HTTPProxies may be roots in these namespaces alone")
}

// assumeFlag names meshes whose documents are elsewhere.
func (a *app) assumeFlag(c *cobra.Command) {
	c.Flags().StringSliceVar(&a.assumedMeshes, "assume-mesh", nil, "with -f: meshes that are there though no document makes them, separated by commas; may be repeated")
}

func (a *app) settings() (world.Settings, error) {
	service, err := filters.ParseAuthorizer(a.extAuthz)
	if err != nil {
		return world.Settings{}, usage("--ext-authz %v", err)
	}
	hosts, err := skipper.ParseAddresses(a.backendAddresses)
	if err != nil {
		return world.Settings{}, usage("--backend-addresses %v", err)
	}
	return world.Settings{Authorizer: service, RootNamespaces: a.rootNamespaces, BackendAddresses: hosts, MeshGrants: a.meshGrants, AssumedMeshes: a.assumedMeshes}, nil
}

// dataplane is what holds for one dataplane. One with a namespace answers to its
// name alone where no other has it, to <name>.<namespace>, its name in Kuma, and
// to <namespace>/<name>.
func (w *offline) dataplane(mesh, name string) (*effective.Resolved, error) {
	ref := api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name}
	if r, ok := w.model.Dataplane(ref); ok {
		return r, nil
	}
	var short, names []string
	var found []*effective.Resolved
	for r := range w.model.Dataplanes(mesh) {
		if slices.Contains(calledBy(r.Dataplane), name) {
			found = append(found, r)
		}
		short, names = append(short, r.Ref.Name), append(names, r.Dataplane.FullName())
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		names = nil
		for _, r := range found {
			names = append(names, r.Dataplane.FullName())
		}
		return nil, fmt.Errorf("%s: several have that name; write one of %s", ref, strings.Join(names, ", "))
	}
	hint := "the documents hold no Dataplane of that mesh"
	slices.Sort(short)
	if near := nearest.To(name, append(slices.Compact(short), names...), 3); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	} else if len(names) > 0 {
		hint = "there are " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return nil, fmt.Errorf("%s: there is no such object; %s%s", ref, elsewhereIn(w.model, api.KindDataplane, mesh, name), hint)
}

// calledBy are all names that an object answers to.
func calledBy(o *api.Object) []string {
	out := []string{o.Name, o.DisplayName()}
	if home := o.HomeNamespace(); home != "" {
		for _, n := range out[:2] {
			out = append(out, n+"."+home, home+"/"+n)
		}
	}
	return out
}
