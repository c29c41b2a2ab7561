package mtls

import (
	"cmp"
	"io"
	"time"

	"github.com/weftmesh/weft/inspect/terminal"
)

// Text writes how far a mesh is, for people.
func (x *MTLS) Text(w io.Writer, s terminal.Style) error {
	p := terminal.Printer{Style: s}
	x.Phase.text(&p)
	for _, a := range x.Authorities {
		if err := a.Text(w, s); err != nil {
			return err
		}
	}
	if len(x.Authorities) == 0 {
		p.Line("no authority: nothing is signed in mesh %s", x.Mesh)
	}
	x.Progress.text(&p)
	for i := range x.Items {
		x.Items[i].text(&p)
	}
	if len(x.Senders) > 0 {
		p.Line("")
		p.Line("%s", s.Strong("called in plain text by"))
		for _, c := range x.Senders {
			p.Line("  %s at %s port %d: %d connections, the last ended %s", c.From, c.To, c.Port, c.Connections, c.Last.Format(time.RFC3339))
		}
	}
	if len(x.Items) < x.Total {
		p.Line("")
		p.Line("%d of %d dataplanes", len(x.Items), x.Total)
	}
	return p.Flush(w)
}

func (d *DataplaneMTLS) text(p *terminal.Printer) {
	p.Line("")
	who := cmp.Or(d.Identity, "no identity")
	switch {
	case d.Problem != "" && d.Identity == "":
		who = "no identity: " + d.Problem
	case d.Problem != "":
		who += ", refused a certificate: " + d.Problem
	case d.Certificate != nil && d.Certificate.Issued != nil:
		who += ", certified at " + d.Certificate.Issued.Format(time.RFC3339) + until(&d.Certificate.Expires)
	case d.Certificate != nil:
		who += ", certified" + until(&d.Certificate.Expires)
	case d.Identity != "":
		who += ", without a certificate"
	}
	p.Line("%s  %s%s", p.Strong(d.Name), who, terminal.When(!d.Connected, ", not connected"))
	for _, i := range d.Inbounds {
		held := ""
		if i.Confirmed != i.Wanted {
			held = ", now " + cmp.Or(i.Confirmed, "not known")
		}
		p.Line("  port %d  %s%s: %d connections by TLS, %d in plain text (%d and %d in all)", i.Port, i.Wanted, held, i.TLS.Open, i.Plain.Open, i.TLS.All, i.Plain.All)
	}
}

func until(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ", until " + t.Format(time.RFC3339)
}
