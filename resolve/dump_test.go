package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// composition is what a model is compiled with.
type composition struct {
	catalog  *api.Catalog
	dialects []route.Dialect
	kinds    []*policies.Kind
}

func newComposition(t testing.TB) *composition {
	t.Helper()
	return &composition{catalog: world.Catalog(), dialects: world.Dialects(), kinds: world.Kinds()}
}

// panickingAt are the dialects with a bug: the first panics at objects of that name.
func (c *composition) panickingAt(name string) []route.Dialect {
	dialects := slices.Clone(c.dialects)
	read := dialects[0].Read
	dialects[0].Read = func(o *api.Object, see route.Lister) *route.ParsedRoute {
		if o.Name == name {
			panic("planted")
		}
		return read(o, see)
	}
	return dialects
}

// panickingFor are the dialects with another bug: the first panics where routes are to be composed
// for the frontend of that name.
func (c *composition) panickingFor(frontend string) []route.Dialect {
	dialects := slices.Clone(c.dialects)
	compose := dialects[0].Compose
	dialects[0].Compose = func(f route.Frontend, candidates []route.Candidate) route.Composition {
		if f.Name == frontend && len(candidates) > 0 {
			panic("planted")
		}
		return compose(f, candidates)
	}
	return dialects
}

// dump is everything that a model says, as text.
func dump(model *resolve.Model) string {
	var b strings.Builder
	for r := range model.Dataplanes("") {
		b.WriteString(content(r))
	}
	for n := range model.Notes() {
		fmt.Fprintf(&b, "note %s %s %s %s\n", n.Origin.Ref, n.Code, n.Field, n.Message)
	}
	return b.String()
}

// dumpConnections writes where connections go because somebody says so.
func dumpConnections(b *strings.Builder, t *effective.TCPTable) {
	for _, s := range t.ServerNames {
		fmt.Fprintf(b, "  for %s\n", s.Name)
		dumpConnections(b, s.TCPTable)
	}
	if t.BackendsBy == nil {
		return
	}
	fmt.Fprintf(b, "  connections from %s by %s\n", originsText(t.Origins), originsText([]*api.Origin{t.BackendsBy}))
	for _, be := range t.Backends {
		fmt.Fprintf(b, "   to %s weight %d broken %q\n", be.Cluster, be.Weight, be.Broken.Why)
	}
}

// content is everything that applies to one dataplane, as text.
func content(r *effective.Resolved) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Ref)
	for _, o := range r.Outbounds {
		fmt.Fprintf(&b, " out %s:%d -> %s %s %s\n", o.Address, o.Port, o.Destination.ID, o.Destination.Protocol, policiesText(o.Policies))
		if o.TCP != nil {
			dumpConnections(&b, o.TCP)
		}
		if o.Table == nil {
			continue
		}
		for _, x := range o.Table.Routes {
			match, _ := json.Marshal(x.Match)
			filters := set(x.Filters)
			if x.Answer != nil {
				answer, _ := json.Marshal(x.Answer)
				filters = fmt.Appendf(filters, " answers %T %s", x.Answer, answer)
			}
			fmt.Fprintf(&b, "  %s from %s filters %s\n", match, originsText(x.Origins), filters)
			for _, be := range x.Backends {
				fmt.Fprintf(&b, "   to %s weight %d broken %q\n", be.Cluster, be.Weight, be.Broken.Why)
			}
			fmt.Fprintf(&b, "   %s\n", policiesText(x.Policies))
		}
	}
	for _, c := range r.Clusters {
		only := ""
		if c.ConnectionsOnly {
			only = " connections only"
		}
		fmt.Fprintf(&b, " cluster %s h2 %v%s %s %v\n", c.Cluster.Name, c.HTTP2, only, policiesText(c.Policies), endpointsText(c.List))
	}
	for _, in := range r.Inbounds {
		fmt.Fprintf(&b, " in %s %s:%d for %s:%d %s %v ready %v %s\n", in.Name, in.Address, in.Port, in.ServiceAddress, in.ServicePort, in.Protocol, in.Tags, in.Ready, policiesText(in.Policies))
	}
	return b.String()
}

// endpointsText is without what only meshes with identities say.
func endpointsText(list []effective.Endpoint) string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("{%s %s %d %v %s %d}", e.Dataplane, e.Address, e.Port, e.Tags, e.Zone, e.Priority))
	}
	return "[" + strings.Join(out, " ") + "]"
}

func originsText(list []*api.Origin) string {
	var out []string
	for _, o := range list {
		out = append(out, o.Name+"#"+string(o.Field))
	}
	return strings.Join(out, ",")
}

func policiesText(p effective.Policies) string {
	var out []string
	for _, e := range p {
		for _, f := range e.Fields {
			line := e.Kind.Name + "." + e.Kind.Schema.Leaves[f.Field].Path + "="
			for _, s := range f.Said {
				v, _ := json.Marshal(s.Value)
				layer := s.Layer.String()
				if s.Override {
					layer = "override " + layer
				}
				line += fmt.Sprintf("%s(%s %s %s", v, s.Origin.Name, s.Origin.Field, layer)
				if s.Lost != merge.NotLost {
					line += " lost by " + s.Lost.String()
				}
				line += ")"
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

func describe(changes []snapshot.Change) string {
	var out []string
	for _, c := range changes {
		verb := "put "
		if c.After == nil {
			verb = "delete "
		}
		out = append(out, verb+c.Ref().String())
	}
	return strings.Join(out, ", ")
}

// set is a value without the fields that are null, so that a new one changes no case.
func set(v any) []byte {
	text, _ := json.Marshal(v)
	var read any
	_ = json.Unmarshal(text, &read)
	text, _ = json.Marshal(withoutNull(read))
	return text
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
			} else {
				v[name] = withoutNull(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}
