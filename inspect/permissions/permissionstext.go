package permissions

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/inspect/terminal"
)

// Text writes who may call what, for people.
func (x *Permissions) Text(w io.Writer, s terminal.Style) error {
	p := terminal.Printer{Style: s}
	last := ""
	for i := range x.Items {
		row := &x.Items[i]
		d := &row.Destination
		to := strings.Join([]string{d.Service, "at port", strconv.FormatUint(uint64(d.Port), 10), string(d.Protocol), cmp.Or(d.Mode, "plaintext")}, " ")
		if to != last {
			if last != "" {
				p.Line("")
			}
			p.Line("%s  %s", s.Strong(to), s.Faint(strings.Join(d.Names, ", ")))
			last = to
		}
		why := row.Reason
		if row.By != nil {
			why = terminal.EntryText(row.By)
		}
		if row.Shadow != "" {
			why += "; a shadow would deny it"
		}
		p.Line("  %-5s  %s: %s", row.Access, cmp.Or(row.Caller.Identity, strings.Join(row.Caller.Names, ", ")+", without an identity"), why)
	}
	if x.Left > 0 {
		p.Line("")
		p.Line("and %d more; ask for one caller or one service", x.Left)
	}
	if len(x.Items) == 0 {
		p.Line("nobody calls anything there")
	}
	if x.Counts != nil {
		x.Counts.text(&p)
	}
	return p.Flush(w)
}
