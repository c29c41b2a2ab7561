package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/weftmesh/weft/sim"
)

// permission tells who is let in, or kept out, and by which entry.
func (p *printer) permission(indent string, of *sim.Permission) {
	if of == nil {
		return
	}
	who := cmp.Or(of.Identity, "a caller in plaintext")
	switch {
	case of.By != nil:
		p.line("%s%s %s: %s", indent, who, decisions[of.Decision], entryText(of.By))
	default:
		p.line("%s%s %s: %s", indent, who, decisions[of.Decision], of.Reason)
	}
	if of.Shadow != "" {
		why := "nothing would let it in"
		if of.ShadowBy != nil {
			why = entryText(of.ShadowBy)
		}
		p.line("%s  counted as denied by a shadow: %s", indent, why)
	}
	for _, c := range of.Others {
		p.line("%s  %s: %s", indent, p.faint(entryText(&c.By)), c.Why)
	}
}

// decisions are words for them.
var decisions = map[string]string{sim.Allow: "is let in", sim.Deny: "is denied"}

func entryText(by *sim.PermissionBy) string {
	return fmt.Sprintf("%s %s", by.Origin.Ref, by.Field)
}

// inboundRoutes tells who may send the requests of each rule; where no rule is told apart the
// policies say it.
func (p *printer) inboundRoutes(routes []InboundRoute) {
	for i := range routes {
		r := &routes[i]
		from := "every other request"
		if len(r.Rules) > 0 {
			from = OriginText(r.Rules[len(r.Rules)-1])
		} else if len(routes) == 1 {
			from = "every request"
		}
		p.line("  who may call: %s  %s", r.Match, p.faint(from))
		if r.Closed != "" {
			p.line("    nobody: %s", r.Closed)
			continue
		}
		if r.Permissions == nil {
			p.line("    nobody: no document lets anybody in")
			continue
		}
		p.permissionLists(r.Permissions)
		for _, also := range r.Permissions.Also {
			p.line("    and as well, for requests of several rules arrive so:")
			p.permissionLists(also)
		}
	}
}

func (p *printer) permissionLists(of *sim.PermissionLists) {
	p.permissionEntries("deny", of.Deny)
	p.permissionEntries("allow", of.Allow)
	p.permissionEntries("shadow deny", of.Shadow)
}

// mostEntries is how many entries of a list are printed.
const mostEntries = 20

func (p *printer) permissionEntries(list string, entries []sim.PermissionEntry) {
	for i := range entries[:min(len(entries), mostEntries)] {
		e := &entries[i]
		by := e.Layer
		if e.Override {
			by = "override"
		}
		text := fmt.Sprintf("    %s %s  %s", list, matchText(e.Match), p.faint(entryText(&e.PermissionBy)+" ("+by+")"))
		if e.ShadowedBy != nil {
			text += "; " + e.ShadowedBy.Ref.String() + " stands in its place"
		}
		p.line("%s", text)
	}
	if more := len(entries) - mostEntries; more > 0 {
		p.line("    %s %d more", list, more)
	}
}

// matchText is what an entry asks, as it is written.
func matchText(match any) string {
	text, err := json.Marshal(match)
	if err != nil {
		return ""
	}
	return string(text)
}
