package contour

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// headersPlace is where a policy for headers stands.
type headersPlace struct {
	kind, reason        string
	response, ofService bool
}

// Reasons are spelled as Contour spells them.
var (
	requestHeaders           = headersPlace{kind: routeError, reason: "RequestHeadersPolicyInvalid"}
	responseHeaders          = headersPlace{kind: routeError, reason: "ResponseHeaderPolicyInvalid", response: true}
	requestHeadersOfService  = headersPlace{kind: serviceError, reason: "RequestHeadersPolicyInvalid", ofService: true}
	responseHeadersOfService = headersPlace{kind: serviceError, reason: "ResponseHeadersPolicyInvalid", response: true, ofService: true}
)

// headers adds the filters of a policy: names in their order, so that equal policies
// are equal.
func (m *routeMaker) headers(p *HeadersPolicy, at api.Path, place headersPlace) {
	if p == nil {
		return
	}
	set, remove := map[string][]route.Part{}, map[string]bool{}
	wrong := func(at api.Path, format string, args ...any) { m.fails(place.kind, place.reason, at, format, args...) }
	for i, h := range p.Set {
		here := at.Field("set").Index(i)
		name := strings.ToLower(h.Name)
		if name == "host" && !place.response {
			m.host(h.Value, here, place)
			continue
		}
		parts, why := m.parts(h.Value)
		change := route.SetInRequest
		if place.response {
			change = route.SetInAnswer
		}
		_, twice := set[name]
		err := route.CheckChangedHeader("", change, route.Header{Name: name, Value: h.Value})
		if err == nil {
			err = match.CheckHeaderValue("", h.Value)
		}
		switch {
		case twice:
			wrong(here.Field("name"), "%s is set twice; set it once", name)
		case err != nil:
			wrong(here.Field("name"), "%s", err)
		case why != "":
			wrong(here.Field("value"), "%s", why)
		}
		set[name] = parts
		m.early(parts, name, here.Field("value"), place)
	}
	for i, n := range p.Remove {
		name, here := strings.ToLower(n), at.Field("remove").Index(i)
		change := route.RemoveFromRequest
		if place.response {
			change = route.RemoveFromAnswer
		}
		if err := route.CheckChangedHeader("", change, route.Header{Name: name}); err != nil {
			wrong(here, "%s", err)
		} else if remove[name] {
			wrong(here, "%s is removed twice; remove it once", name)
		}
		remove[name] = true
	}
	m.modify(set, remove, place)
}

// early warns of what nobody knows yet where requests are changed.
func (m *routeMaker) early(parts []route.Part, name string, at api.Path, place headersPlace) {
	for _, p := range parts {
		if !place.response && p.Fact.OfAnswer() {
			m.warns(specError, ignored, at, "%s in %s is not known before there is an answer; write it in responseHeadersPolicy", p.Operator(), name)
		}
	}
}

func (m *routeMaker) modify(set map[string][]route.Part, remove map[string]bool, place headersPlace) {
	if len(set)+len(remove) == 0 {
		return
	}
	before, out := &route.HeaderModifier{}, &route.HeaderModifier{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		filled := route.Filled{Name: name, Parts: set[name]}
		text := filled.Value(func(p route.Part) string { return p.Text })
		switch {
		case text == filled.String():
			out.Set = append(out.Set, route.Header{Name: name, Value: text})
			delete(remove, name) // Envoy removes before it sets
			continue
		case remove[name]:
			before.Remove = append(before.Remove, name)
			delete(remove, name)
		}
		out.Fill = append(out.Fill, filled)
	}
	out.Remove = slices.Sorted(maps.Keys(remove))
	for _, modifier := range []*route.HeaderModifier{before, out} {
		switch {
		case len(modifier.Set)+len(modifier.Fill)+len(modifier.Remove) == 0:
		case place.response:
			m.filters = append(m.filters, route.Filter{ResponseHeaders: modifier})
		default:
			m.filters = append(m.filters, route.Filter{RequestHeaders: modifier})
		}
	}
}

// hostFromHeader is the one operator that may stand for a host.
var hostFromHeader = regexp.MustCompile(`^%REQ\(([-A-Za-z0-9_]+)\)%$`)

// host changes the host that services see.
func (m *routeMaker) host(value string, at api.Path, place headersPlace) {
	w := m.rewritten()
	switch from := hostFromHeader.FindStringSubmatch(value); {
	case from != nil && place.ofService:
		m.fails(place.kind, place.reason, at.Field("value"), "the host of one service cannot come from a header; write it at the route")
	case from != nil:
		w.HostHeader = strings.ToLower(from[1])
	case value == "" || !hostValue.MatchString(value):
		m.fails(place.kind, place.reason, at.Field("value"), "%q is no host; write a name, or %%REQ(X-Name)%% for that of a header", redact.Clip(value))
	default:
		w.Hostname = value
	}
}

// rewritten is the one rewrite among the filters.
func (m *routeMaker) rewritten() *route.Rewrite {
	for _, f := range m.filters {
		if f.Rewrite != nil {
			return f.Rewrite
		}
	}
	w := &route.Rewrite{}
	m.filters = append(m.filters, route.Filter{Rewrite: w})
	return w
}

// operator is what looks like something that Envoy puts a value for.
var operator = regexp.MustCompile(`%([A-Z][A-Z0-9_]*(?:\([^)%]*\))?)%`)

// known are the operators that Contour knows, whether weft has them or not.
var known = regexp.MustCompile(`^(DOWNSTREAM_[A-Z0-9_]+|UPSTREAM_REMOTE_ADDRESS|HOSTNAME|PROTOCOL|RESPONSE_FLAGS|RESPONSE_CODE_DETAILS|REQ\(.*\))$`)

// headerOperator is that for a header of the request, as Contour takes it.
var headerOperator = regexp.MustCompile(`^REQ\(([-\w]+)\)$`)

// parts are the value of a header, with the words of Contour's own filled in. Envoy fills
// in the others; any other percent sign is one.
func (m *routeMaker) parts(v string) (parts []route.Part, why string) {
	v = strings.ReplaceAll(v, "%CONTOUR_NAMESPACE%", m.of.HomeNamespace())
	if m.service != nil {
		v = strings.NewReplacer("%CONTOUR_SERVICE_NAME%", m.service.Name, "%CONTOUR_SERVICE_PORT%", strconv.FormatInt(m.service.Port, 10)).Replace(v)
	}
	return partsOf(v)
}

func partsOf(v string) (parts []route.Part, why string) {
	end := 0
	for from := 0; ; {
		at := operator.FindStringSubmatchIndex(v[from:])
		if at == nil {
			break
		}
		for i := range at {
			at[i] += from
		}
		name := v[at[2]:at[3]]
		var part route.Part
		if header := headerOperator.FindStringSubmatch(name); header != nil {
			part.Header = strings.ToLower(header[1])
		} else if slices.Contains(route.Facts, route.Fact(name)) {
			part.Fact = route.Fact(name)
		} else if known.MatchString(name) {
			why = strconv.Quote(v[at[0]:at[1]]) + " is an operator that weft does not have Envoy fill in; write %REQ(X-Name)% for a header of the request, another operator of the page on HTTPProxy, or a plain value"
			from = at[1]
			continue
		} else { // text, whose last percent sign may begin an operator
			from = at[1] - 1
			continue
		}
		if at[0] > end {
			parts = append(parts, route.Part{Text: v[end:at[0]]})
		}
		parts, end, from = append(parts, part), at[1], at[1]
	}
	if end < len(v) {
		parts = append(parts, route.Part{Text: v[end:]})
	}
	return parts, why
}
