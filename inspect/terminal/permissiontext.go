package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/weftmesh/weft/sim/permission"
)

// permission tells who is let in, or kept out, and by which entry.
func (p *Printer) permission(indent string, of *permission.Permission) {
	if of == nil {
		return
	}
	who := cmp.Or(of.Identity, "a caller in plaintext")
	switch {
	case of.By != nil:
		p.Line("%s%s %s: %s", indent, who, decisions[of.Decision], EntryText(of.By))
	default:
		p.Line("%s%s %s: %s", indent, who, decisions[of.Decision], of.Reason)
	}
	if of.Shadow != "" {
		why := "nothing would let it in"
		if of.ShadowBy != nil {
			why = EntryText(of.ShadowBy)
		}
		p.Line("%s  counted as denied by a shadow: %s", indent, why)
	}
	for _, c := range of.Others {
		p.Line("%s  %s: %s", indent, p.Faint(EntryText(&c.By)), c.Why)
	}
}

// decisions are words for them.
var decisions = map[string]string{permission.Allow: "is let in", permission.Deny: "is denied"}

// EntryText is which entry of which document speaks.
func EntryText(by *permission.PermissionBy) string {
	return fmt.Sprintf("%s %s", by.Origin.Ref, by.Field)
}

// PermissionLists tells of the entries that deny, allow, and are only tried.
func (p *Printer) PermissionLists(of *permission.PermissionLists) {
	p.permissionEntries("deny", of.Deny)
	p.permissionEntries("allow", of.Allow)
	p.permissionEntries("shadow deny", of.Shadow)
}

// mostEntries is how many entries of a list are printed.
const mostEntries = 20

func (p *Printer) permissionEntries(list string, entries []permission.PermissionEntry) {
	for i := range entries[:min(len(entries), mostEntries)] {
		e := &entries[i]
		by := e.Layer
		if e.Override {
			by = "override"
		}
		text := fmt.Sprintf("    %s %s  %s", list, matchText(e.Match), p.Faint(EntryText(&e.PermissionBy)+" ("+by+")"))
		if e.ShadowedBy != nil {
			text += "; " + e.ShadowedBy.Ref.String() + " stands in its place"
		}
		p.Line("%s", text)
	}
	if more := len(entries) - mostEntries; more > 0 {
		p.Line("    %s %d more", list, more)
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
