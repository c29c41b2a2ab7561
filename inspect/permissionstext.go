package inspect

import (
	"cmp"
	"io"
	"strconv"
	"strings"
)

// Text writes who may call what, for people.
func (x *Permissions) Text(w io.Writer, s Style) error {
	p := printer{Style: s}
	last := ""
	for i := range x.Items {
		row := &x.Items[i]
		d := &row.Destination
		to := strings.Join([]string{d.Service, "at port", strconv.FormatUint(uint64(d.Port), 10), string(d.Protocol), cmp.Or(d.Mode, "plaintext")}, " ")
		if to != last {
			if last != "" {
				p.line("")
			}
			p.line("%s  %s", s.strong(to), s.faint(strings.Join(d.Names, ", ")))
			last = to
		}
		why := row.Reason
		if row.By != nil {
			why = entryText(row.By)
		}
		if row.Shadow != "" {
			why += "; a shadow would deny it"
		}
		p.line("  %-5s  %s: %s", row.Access, cmp.Or(row.Caller.Identity, strings.Join(row.Caller.Names, ", ")+", without an identity"), why)
	}
	if x.Left > 0 {
		p.line("")
		p.line("and %d more; ask for one caller or one service", x.Left)
	}
	if len(x.Items) == 0 {
		p.line("nobody calls anything there")
	}
	if x.Counts != nil {
		x.Counts.text(&p)
	}
	return p.flush(w)
}
