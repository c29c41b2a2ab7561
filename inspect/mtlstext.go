package inspect

import (
	"cmp"
	"io"
	"time"
)

// Text writes how far a mesh is, for people.
func (x *MTLS) Text(w io.Writer, s Style) error {
	p := printer{Style: s}
	x.Phase.text(&p)
	for _, a := range x.Authorities {
		if err := a.Text(w, s); err != nil {
			return err
		}
	}
	if len(x.Authorities) == 0 {
		p.line("no authority: nothing is signed in mesh %s", x.Mesh)
	}
	x.Progress.text(&p)
	for i := range x.Items {
		x.Items[i].text(&p)
	}
	if len(x.Senders) > 0 {
		p.line("")
		p.line("%s", s.strong("called in plain text by"))
		for _, c := range x.Senders {
			p.line("  %s at %s port %d: %d connections, the last ended %s", c.From, c.To, c.Port, c.Connections, c.Last.Format(time.RFC3339))
		}
	}
	if len(x.Items) < x.Total {
		p.line("")
		p.line("%d of %d dataplanes", len(x.Items), x.Total)
	}
	return p.flush(w)
}

func (d *SecuredDataplane) text(p *printer) {
	p.line("")
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
	p.line("%s  %s%s", p.strong(d.Name), who, when(!d.Connected, ", not connected"))
	for _, i := range d.Inbounds {
		held := ""
		if i.Held != i.Wanted {
			held = ", now " + cmp.Or(i.Held, "not known")
		}
		p.line("  port %d  %s%s: %d connections by TLS, %d in plain text (%d and %d in all)", i.Port, i.Wanted, held, i.TLS.Open, i.Plain.Open, i.TLS.All, i.Plain.All)
	}
}

func when(is bool, text string) string {
	if !is {
		return ""
	}
	return text
}

func until(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ", until " + t.Format(time.RFC3339)
}
