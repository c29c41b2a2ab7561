package contour

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
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
	set, remove := map[string]string{}, map[string]bool{}
	wrong := func(at api.Path, format string, args ...any) { m.fails(place.kind, place.reason, at, format, args...) }
	for i, h := range p.Set {
		here := at.Field("set").Index(i)
		name := strings.ToLower(h.Name)
		if name == "host" && !place.response {
			m.host(h.Value, here, place)
			continue
		}
		value, why := m.value(h.Value)
		change := route.SetInRequest
		if place.response {
			change = route.SetInAnswer
		}
		_, twice := set[name]
		err := route.CheckChangedHeader("", change, route.Header{Name: name, Value: value})
		if err == nil {
			err = route.CheckHeaderValue("", value)
		}
		switch {
		case twice:
			wrong(here.Field("name"), "%s is set twice; set it once", name)
		case err != nil:
			wrong(here.Field("name"), "%s", err)
		case why != "":
			wrong(here.Field("value"), "%s", why)
		}
		set[name] = value
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

func (m *routeMaker) modify(set map[string]string, remove map[string]bool, place headersPlace) {
	if len(set)+len(remove) == 0 {
		return
	}
	out := &route.HeaderModifier{}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out.Set = append(out.Set, route.Header{Name: name, Value: set[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(remove)) {
		if _, both := set[name]; !both { // Envoy removes before it sets
			out.Remove = append(out.Remove, name)
		}
	}
	if place.response {
		m.filters = append(m.filters, route.Filter{ResponseHeaders: out})
	} else {
		m.filters = append(m.filters, route.Filter{RequestHeaders: out})
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
		m.fails(place.kind, place.reason, at.Field("value"), "%q is no host; write a name, or %%REQ(X-Name)%% for that of a header", api.Clip(value))
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

// operator is what Envoy puts a value for.
var operator = regexp.MustCompile(`%([A-Z][A-Z0-9_]*(?:\([^)%]*\))?)%`)

// allowed are the operators that Contour lets through.
var allowed = regexp.MustCompile(`^(DOWNSTREAM_[A-Z_]+|UPSTREAM_REMOTE_ADDRESS|HOSTNAME|PROTOCOL|RESPONSE_FLAGS|RESPONSE_CODE_DETAILS|REQ\([^)]+\))$`)

// value is the value of a header with the words of Contour's own filled in. What Envoy
// would fill in is not carried yet; any other percent sign is one.
func (m *routeMaker) value(v string) (value, why string) {
	v = strings.ReplaceAll(v, "%CONTOUR_NAMESPACE%", m.of.HomeNamespace())
	if m.service != nil {
		v = strings.NewReplacer("%CONTOUR_SERVICE_NAME%", m.service.Name, "%CONTOUR_SERVICE_PORT%", strconv.FormatInt(m.service.Port, 10)).Replace(v)
	}
	for _, found := range operator.FindAllStringSubmatch(v, -1) {
		if allowed.MatchString(found[1]) {
			return v, strconv.Quote(found[0]) + " is filled in by Envoy, which weft does not ask for yet; write a plain value"
		}
	}
	return v, ""
}
