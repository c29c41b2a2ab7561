package skipper

import (
	"slices"

	"github.com/weftmesh/weft/route"
)

// template is a value that is filled in. Where a part of one is missing a group leaves the
// header out, and others write the rest of it.
func (p *printer) template(f *route.Filled) string {
	for _, x := range f.Parts {
		if _, ok := placeholderOf(x); !ok || len(f.Parts) > 1 && (x.Answer != "" || x.Header != "" && x.Header != "host") {
			p.Fail(route.UnsaidFilter, "a %s does not fill in %s as it is meant", Kind, f)
		}
	}
	return spelled(f.Parts)
}

// unread fails where a header is filled in, or is the host, that the rule changes too: the
// filters of a group see what those before them have made of it.
func (p *printer) unread(plain *route.Plain) {
	read := func(name string, list []route.HeaderModifier, by string) {
		for i := range list {
			m := list[i]
			m.Fill = slices.DeleteFunc(slices.Clone(m.Fill), func(f route.Filled) bool { return f.Name == by && by == name })
			if changed, _ := changes(&m, name); changed {
				p.Fail(route.UnsaidFilter, "a %s fills in header %s as filters have changed it, and not as it came", Kind, name)
			}
		}
	}
	for i := range plain.Request {
		for _, f := range plain.Request[i].Fill {
			for _, x := range f.Parts {
				read(x.Header, plain.Request, f.Name)
			}
		}
	}
	for i := range plain.Answer {
		for _, f := range plain.Answer[i].Fill {
			for _, x := range f.Parts {
				read(x.Answer, plain.Answer, f.Name)
			}
		}
	}
	if w := plain.Rewrite; w != nil {
		read(w.HostHeader, plain.Request, "")
	}
}
