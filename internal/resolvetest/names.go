package resolvetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// Names writes what has to do with the names of a model.
func Names(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		fmt.Fprintln(&b, r.Ref)
		for _, h := range m.Hostnames(r.Ref.Mesh, m.CallsAs(r.Ref), nil).List {
			last := ""
			if h.Last {
				last = " last"
			}
			fmt.Fprintf(&b, " %s %s%s\n", h.Name, strings.Join(h.Addresses, " "), last)
		}
	}
	q := m.Reader(nil)
	for o := range m.Snapshot().All() {
		report, ok := q.ServiceReport(o.Ref, func(r api.Ref) bool { return r.Name == "connected" })
		if !ok {
			continue
		}
		fmt.Fprintln(&b, o.Ref)
		for _, a := range report.Addresses {
			fmt.Fprintf(&b, " address %s %s\n", a.Hostname, a.Origin)
		}
		for _, v := range report.VIPs {
			fmt.Fprintf(&b, " vip %s\n", v.IP)
		}
		for _, g := range report.HostnameGenerators {
			fmt.Fprintf(&b, " %s %s %s %s\n", g.HostnameGeneratorRef.CoreName, g.Conditions[0].Status, g.Conditions[0].Reason, g.Conditions[0].Message)
		}
		if p := report.DataplaneProxies; p != nil {
			fmt.Fprintf(&b, " dataplanes %d, connected %d, healthy %d\n", p.Total, p.Connected, p.Healthy)
		}
	}
	for n := range m.Notes() {
		if n.Code == "Collision" || n.Code == "TemplateError" {
			fmt.Fprintf(&b, "note %s %s %s\n", n.Origin.Ref, n.Code, n.Message)
		}
	}
	return b.String()
}

// IdentityText is what is resolved about identities.
func IdentityText(r *effective.Resolved) string {
	var b strings.Builder
	text := func(v any) string { out, _ := json.Marshal(v); return string(out) }
	fmt.Fprintf(&b, "%s identity %s tls %v\n", r.Ref.Name, text(r.Identity), r.TLS)
	if r.Closed != nil {
		fmt.Fprintf(&b, " closed where no inbound is, by %s %s\n", r.Closed.Ref, r.Closed.Field)
	}
	for _, t := range r.Trust {
		fmt.Fprintf(&b, " trust %s", t.Name)
		for _, d := range t.Domains {
			fmt.Fprintf(&b, " %s (%d roots)", d.Name, len(d.Roots))
		}
		b.WriteString("\n")
	}
	for _, in := range r.Inbounds {
		fmt.Fprintf(&b, " in %s guarded %v %s\n", in.Name, in.Guarded, text(in.TLS))
	}
	for _, c := range r.Clusters {
		fmt.Fprintf(&b, " cluster %s %s", c.Cluster.Name, text(c.TLS))
		for _, e := range c.List {
			fmt.Fprintf(&b, " %s:%d plain %v", e.Address, e.Port, e.Plain)
		}
		b.WriteString("\n")
	}
	return b.String()
}
