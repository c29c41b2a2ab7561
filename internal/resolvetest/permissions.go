package resolvetest

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// callers are whom Permissions asks about.
var callers = []string{"spiffe://default/ops", "spiffe://default/web", "spiffe://other/web"}

// Permissions is who may call each inbound: by the rules of routes that send requests there, in the order in which
// they are asked, and by what holds of all other requests; and what is noted on permissions.
func Permissions(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		for _, in := range r.Inbounds {
			fmt.Fprintf(&b, "%s in %s\n", r.Ref.Name, in.Name)
			for i := range in.Rules {
				rule := &in.Rules[i]
				var match []string
				for _, c := range rule.Match.Conditions {
					match = append(match, c.Text())
				}
				fmt.Fprintf(&b, " %s from %s", strings.Join(match, ", "), originsText(rule.Rules))
				if rule.Closed != "" {
					fmt.Fprintf(&b, ": nobody, %s\n", rule.Closed)
					continue
				}
				b.WriteString(letIn(rule.Over(in.Policies)))
			}
			b.WriteString(" all" + letIn(in.Policies))
		}
	}
	for n := range m.Notes() {
		if n.Origin.Kind == trafficpermission.Kind.Name {
			fmt.Fprintf(&b, "note %s %s %s\n", n.Origin.Ref, n.Code, n.Message)
		}
	}
	return b.String()
}

// letIn is which of the callers policies let in.
func letIn(all effective.Policies) string {
	var out []string
	p := trafficpermission.Of(all.Of(trafficpermission.Kind.Name))
	for _, name := range callers {
		decision := "denied"
		v := p.Decide(&trafficpermission.Asked{Names: []string{name}})
		if v.Allowed {
			decision = "allowed"
		}
		by := ""
		if v.By != nil {
			by = " by " + v.By.Name
		}
		out = append(out, fmt.Sprintf("%s %s%s", name, decision, by))
	}
	return ": " + strings.Join(out, "; ") + "\n"
}
