package resolvetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// Dump is everything that a model says, as text.
func Dump(model *resolve.Model) string {
	var b strings.Builder
	for r := range model.Dataplanes("") {
		b.WriteString(Content(r))
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

// Content is everything that applies to one dataplane, as text.
func Content(r *effective.Resolved) string {
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
	if r.Whole != nil {
		fmt.Fprintf(&b, " whole %s\n", policiesText(r.Whole.Policies))
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
