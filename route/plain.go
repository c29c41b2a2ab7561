package route

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Plain is what the filters of a rule come to, sorted by what they do.
type Plain struct {
	// Request and Answer change headers, one after the other; each names a header once.
	Request, Answer []HeaderModifier
	Rewrite         *Rewrite
	Mirrors         []*Mirror
	ClientLimits    []*ClientLimit
	Guards          []*Authorization
	CORS            *CORS
	Delay           api.Duration
}

// PlainOf is filters as what they come to.
func PlainOf(filters []Filter) Plain {
	var out Plain
	var request, answer []change
	for i := range filters {
		switch f := &filters[i]; {
		case f.RequestHeaders != nil:
			request = append(request, changesOf(f.RequestHeaders)...)
		case f.ResponseHeaders != nil:
			answer = append(answer, changesOf(f.ResponseHeaders)...)
		case f.Mirror != nil:
			out.Mirrors = append(out.Mirrors, f.Mirror)
		case f.ClientLimit != nil:
			out.ClientLimits = append(out.ClientLimits, f.ClientLimit)
		}
	}
	out.Request, out.Answer = layers(request), layers(answer)
	out.Rewrite, out.Guards, out.CORS, out.Delay = LastRewrite(filters), Authorizations(filters), CORSOf(filters), DelayOf(filters)
	return out
}

// change is one change of a header.
type change struct {
	what HeaderChange // of a request, whichever it is of
	Header
	fill []Part // instead of a value
}

func changesOf(m *HeaderModifier) []change {
	var out []change
	for _, h := range m.Set {
		out = append(out, change{what: SetInRequest, Header: Header{strings.ToLower(h.Name), h.Value}})
	}
	for _, h := range m.Fill {
		c := change{what: SetInRequest, Header: Header{Name: h.Name}, fill: h.Parts}
		if h.Add {
			c.what = AddToRequest
		}
		out = append(out, c)
	}
	for _, h := range m.Add {
		out = append(out, change{what: AddToRequest, Header: Header{strings.ToLower(h.Name), h.Value}})
	}
	for _, name := range m.Remove {
		out = append(out, change{what: RemoveFromRequest, Header: Header{Name: strings.ToLower(name)}})
	}
	return out
}

// layers are changes in as few modifiers as name each header once, by name. Of several
// that set one header the last one counts, where it is sure to set it.
func layers(list []change) []HeaderModifier {
	var out []HeaderModifier
	depth := map[string]int{}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(a.Name, b.Name) })
	for i, c := range list {
		if c.what == SetInRequest && i+1 < len(list) && list[i+1].Name == c.Name && list[i+1].what == SetInRequest && list[i+1].fill == nil {
			continue
		}
		n := depth[c.Name]
		depth[c.Name]++
		if n == len(out) {
			out = append(out, HeaderModifier{})
		}
		switch m := &out[n]; {
		case c.fill != nil:
			m.Fill = append(m.Fill, Filled{c.Name, c.fill, c.what == AddToRequest})
		case c.what == SetInRequest:
			m.Set = append(m.Set, c.Header)
		case c.what == AddToRequest:
			m.Add = append(m.Add, c.Header)
		default:
			m.Remove = append(m.Remove, c.Name)
		}
	}
	return out
}
