package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newGet(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:   "get KIND [NAME]",
		Short: "Show stored objects",
		Long:  "Shows the objects of a kind, or one of them: as YAML the way they were written,\nto be edited and applied again; as JSON with all that the control plane adds.\nAn object in a namespace is called NAMESPACE/NAME.\n\nKinds, by type name, plural or short name: " + kinds() + ".",
		Example: `  weft get meshretries
  weft get mr mr-1 -o yaml
  weft get dataplane frontend-1 -o json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeObject,
		RunE:              func(c *cobra.Command, args []string) error { return a.get(c, args) },
	}, groupAsk)
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

func (a *app) get(c *cobra.Command, args []string) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	t, server, err := a.located(args[0])
	if err != nil {
		return err
	}
	form := ""
	if a.output == "yaml" { // documents as they were written, to be applied again
		form = "?format=written"
	}
	if len(args) == 2 {
		item, err := server.One(c.Context(), path(t, a.mesh, args[1])+form)
		if err != nil {
			return a.named(c.Context(), server, t, args[1], err)
		}
		return a.print(item, func(w io.Writer) error { return table(w, []client.Item{item}) })
	}
	items, err := server.List(c.Context(), path(t, a.mesh, "")+form)
	if client.Missing(err) && !t.Global {
		return fmt.Errorf("there is no mesh %s; %s`weft get meshes` lists those that there are", a.mesh, a.elsewhere(c.Context(), server, t, ""))
	}
	if err != nil {
		return err
	}
	if len(items) == 0 {
		hint := strings.TrimSuffix(a.elsewhere(c.Context(), server, t, ""), "; ")
		if hint != "" {
			fmt.Fprintf(a.err, "mesh %s has no %s; %s\n", a.mesh, t.Name, hint)
		}
	}
	if a.output == "yaml" {
		return writeDocuments(a.out, items)
	}
	list := map[string]any{"total": len(items), "items": items}
	return a.print(list, func(w io.Writer) error { return table(w, items) })
}

// ref is what people call name or, in a namespace, <namespace>/<name>.
func ref(t api.Type, mesh, name string) api.Ref {
	if t.Global {
		mesh = ""
	}
	r := api.Ref{Kind: t.Name, Mesh: mesh}
	r.Namespace, r.Name = api.CutNamespace(name)
	return r
}

// table prints objects for people: what a route or policy targets, what a
// dataplane listens on, the ports of a service. Namespaces have a column where
// there are any: a name may stand in several.
func table(w io.Writer, items []client.Item) error {
	namespaces := slices.ContainsFunc(items, func(i client.Item) bool { return i.Namespace != "" })
	row := func(mesh, namespace, name, about, age string) []string {
		if !namespaces {
			return []string{mesh, name, about, age}
		}
		return []string{mesh, namespace, name, about, age}
	}
	rows := [][]string{row("MESH", "NAMESPACE", "NAME", "ABOUT", "AGE")}
	for _, i := range items {
		age := ""
		if !i.Created.IsZero() {
			age = short(time.Since(i.Created))
		}
		rows = append(rows, row(dash(i.Mesh), dash(i.Namespace), i.Name, dash(about(i.Raw)), dash(age)))
	}
	return columns(w, rows)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shown is what the table needs of an object as the API shows it.
type shown struct {
	Networking struct {
		Address string
		Inbound []struct {
			Port uint32
			Tags map[string]string
		}
	}
	Spec struct {
		TargetRef *api.TargetRef
		To        []struct{ TargetRef api.TargetRef }
		Ports     []struct {
			Port        uint32
			AppProtocol string
		}
		Match struct {
			Port     uint32
			Protocol string
		}
		Endpoints []struct {
			Address string
			Port    uint32
		}
	}
	Status struct {
		Addresses []struct{ Hostname string }
	}
}

// about is what tells objects of one kind apart at a glance.
func about(raw json.RawMessage) string {
	var o shown
	if json.Unmarshal(raw, &o) != nil {
		return "" // a shape that this table knows nothing of
	}
	var words []string
	if n := o.Networking; n.Address != "" {
		words = append(words, n.Address)
		for _, in := range n.Inbound {
			words = append(words, fmt.Sprintf("%s:%d", in.Tags[api.TagService], in.Port))
		}
	}
	words = append(words, o.service()...)
	if o.Spec.TargetRef != nil || len(o.Spec.To) > 0 {
		words = append(words, target(o.Spec.TargetRef))
		for i := range o.Spec.To {
			words = append(words, "->", target(&o.Spec.To[i].TargetRef))
		}
	}
	return strings.Join(words, " ")
}

// service is what a service is called by: its ports and hostnames, and where it
// is outside the mesh.
func (o *shown) service() []string {
	var words []string
	port := func(n uint32, protocol string) {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("%d/%s", n, protocol), "/"))
	}
	for _, p := range o.Spec.Ports {
		port(p.Port, p.AppProtocol)
	}
	if m := o.Spec.Match; m.Port != 0 {
		port(m.Port, m.Protocol)
	}
	for _, a := range o.Status.Addresses {
		words = append(words, a.Hostname)
	}
	for _, e := range o.Spec.Endpoints {
		words = append(words, "->", strings.TrimSuffix(net.JoinHostPort(e.Address, fmt.Sprint(e.Port)), ":0"))
	}
	return words
}

func target(t *api.TargetRef) string {
	if t == nil {
		return api.KindMesh
	}
	name := t.Name
	if name == "" {
		name = t.Labels[api.LabelDisplayName]
	}
	return strings.TrimSuffix(t.Kind+"/"+name, "/")
}

// short prints an age in its largest unit.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
