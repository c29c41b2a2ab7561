package inspect

import (
	"cmp"
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
