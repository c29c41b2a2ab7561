package differential

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	tagv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/policies/accesslog"
	"github.com/weftmesh/weft/policies/trace"
	"github.com/weftmesh/weft/sim"
)

var telemetryFields = []field{
	{kind: accesslog.Kind.Name, name: "backends", ofRoute: true, there: func(p envoyPlace) string {
		return loggedTo(p, p.route.GetMetadata().GetFilterMetadata()["weft.log"] != nil)
	}, without: unset, as: backendsSaid},
	{kind: accesslog.Kind.Name, name: "backends", ofRoute: false, there: func(p envoyPlace) string { return loggedTo(p, false) }, without: unset, as: backendsSaid},
	{kind: trace.Kind.Name, name: "backends", ofRoute: false, there: func(p envoyPlace) string { return markersIn(p.manager.GetTracing().GetProvider().GetTypedConfig()) }, without: unset, as: backendsSaid},
	{kind: trace.Kind.Name, name: "sampling.overall", ofRoute: true, there: func(p envoyPlace) string { return percent(p, p.route.GetTracing().GetOverallSampling()) }, asWhole: samplingSaid("overall")},
	{kind: trace.Kind.Name, name: "sampling.client", ofRoute: true, there: func(p envoyPlace) string { return percent(p, p.route.GetTracing().GetClientSampling()) }, asWhole: samplingSaid("client")},
	{kind: trace.Kind.Name, name: "sampling.random", ofRoute: true, there: func(p envoyPlace) string { return percent(p, p.route.GetTracing().GetRandomSampling()) }, asWhole: samplingSaid("random")},
	{kind: trace.Kind.Name, name: "tags", ofRoute: true, there: func(p envoyPlace) string { return tagsOf(p.route.GetTracing().GetCustomTags()) }, asWhole: tagsSaid},
}

// marker is the name of a backend of these worlds, which stands in its format or address.
var marker = regexp.MustCompile(`mark-[a-z]+`)

// markersIn are the names of backends in a message or value; unset for none.
func markersIn(v any) string {
	text := []byte(plain(v))
	if a, ok := v.(*anypb.Any); ok {
		text = []byte(a.String())
	}
	all := marker.FindAllString(string(text), -1)
	slices.Sort(all)
	return cmp.Or(strings.Join(slices.Compact(all), " "), unset)
}

// loggedTo are the backends to which a request of a route is written, or of none with a list of its own; or a
// connection.
func loggedTo(p envoyPlace, marked bool) string {
	list := p.bytes.GetAccessLog()
	if p.manager != nil {
		list = p.manager.AccessLog
	}
	var found []string
	for _, l := range list {
		id, ours := strings.CutPrefix(l.Name, "weft.log.")
		if ours && passes(p, l.Filter, id, marked) {
			found = append(found, strings.Fields(markersIn(l.GetTypedConfig()))...)
		}
	}
	slices.Sort(found)
	return cmp.Or(strings.Join(slices.Compact(found), " "), unset)
}

// passes reports whether the filter of a logger lets a request through, by the forms that filters have.
func passes(p envoyPlace, f *accesslogv3.AccessLogFilter, id string, marked bool) bool {
	if f == nil {
		return true
	}
	expression := f.String()
	if !marked {
		return strings.Contains(expression, "!has(xds.route_metadata)")
	}
	_, named := p.route.GetMetadata().GetFilterMetadata()["weft.log"].GetFields()[id]
	return named && strings.Contains(expression, "'"+id+"'")
}

func backendsSaid(v sim.Policy, value any) string { return markersIn(value) }

// percent is a share of requests that are traced by a route; unset where there is no tracer.
func percent(p envoyPlace, f *typev3.FractionalPercent) string {
	if p.manager.GetTracing() == nil {
		return unset
	}
	of := map[typev3.FractionalPercent_DenominatorType]float64{typev3.FractionalPercent_HUNDRED: 1, typev3.FractionalPercent_TEN_THOUSAND: 100, typev3.FractionalPercent_MILLION: 10_000}
	return fmt.Sprint(float64(f.GetNumerator()) / of[f.GetDenominator()])
}

// traced reports whether spans go anywhere.
func traced(v sim.Policy) bool { return markersIn(last(v, "backends")) != unset }

// samplingSaid is the share that explain says of a field, all where it says nothing.
func samplingSaid(field string) func(sim.Policy) string {
	return func(v sim.Policy) string {
		if !traced(v) || slices.Contains(v.Idle, "backends") {
			return unset
		}
		if value := last(v, "sampling."+field); value != nil {
			return strings.Trim(plain(value), `"`)
		}
		return "100"
	}
}

func tagsSaid(v sim.Policy) string {
	list, _ := last(v, "tags").([]trace.Tag)
	if !traced(v) || slices.Contains(v.Idle, "backends") || len(list) == 0 {
		return unset
	}
	var out []string
	for _, t := range list {
		if t.Header != nil {
			out = append(out, t.Name+"="+t.Header.Name+"?"+t.Header.Default)
		} else {
			out = append(out, t.Name+"="+t.Literal)
		}
	}
	return strings.Join(out, " ")
}

func tagsOf(list []*tagv3.CustomTag) string {
	var out []string
	for _, t := range list {
		if h := t.GetRequestHeader(); h != nil {
			out = append(out, t.Tag+"="+h.Name+"?"+h.DefaultValue)
		} else {
			out = append(out, t.Tag+"="+t.GetLiteral().GetValue())
		}
	}
	return cmp.Or(strings.Join(out, " "), unset)
}

// telemetry are access logs and traces of a world.
func (d draw) telemetry() (out []m) {
	for i := range 1 + d.IntN(4) {
		onRoute := m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)}
		top, to := m{"kind": "Mesh"}, one(d, m{"kind": "Mesh"}, m{"kind": "MeshService", "name": "web"}, onRoute)
		if d.chance(4) {
			top, to = onRoute, m{"kind": "Mesh"}
		}
		spec := m{"targetRef": top, "to": []any{m{"targetRef": to, one(d, "default", "default", "override"): m{"backends": d.logBackends()}}}}
		if top["kind"] == "Mesh" && d.chance(3) {
			spec["rules"] = []any{m{"default": m{"backends": d.logBackends()}}}
		}
		out = append(out, m{"type": accesslog.Kind.Name, "mesh": "default", "name": fmt.Sprintf("log%d", i), "spec": spec})
	}
	for i := range d.IntN(4) {
		conf := m{}
		spec := m{"targetRef": m{"kind": "Mesh"}, one(d, "default", "default", "override"): conf}
		if i > 0 && d.chance(2) {
			spec["targetRef"] = m{"kind": "MeshHTTPRoute", "name": one(d, routeNames...)}
		} else {
			conf["backends"] = one(d, []any{}, []any{d.tracer()}, []any{d.tracer()})
		}
		sampling := m{}
		for _, f := range some(d, 3, "overall", "client", "random") {
			sampling[f] = one[any](d, 0, 5, 100, "0.5", "12.34")
		}
		if len(sampling) > 0 || len(conf) == 0 {
			sampling["random"] = one[any](d, 1, "0.1")
			conf["sampling"] = sampling
		}
		if d.chance(3) {
			conf["tags"] = []any{m{"name": "a", "literal": one(d, "x", "y")}, m{"name": "b", "header": m{"name": "x-a", "default": one(d, "", "none")}}}
		}
		out = append(out, m{"type": trace.Kind.Name, "mesh": "default", "name": fmt.Sprintf("trace%d", i), "spec": spec})
	}
	return out
}

// logBackends are up to three, of each type.
func (d draw) logBackends() []any {
	out := []any{}
	for range d.IntN(4) {
		name := "mark-" + one(d, "a", "b", "c", "d")
		format := m{"type": "Plain", "plain": name}
		if d.chance(3) {
			format = m{"type": "Json", "json": []any{m{"key": "line", "value": name}}}
		}
		b := one(d,
			m{"type": "File", "file": m{"path": one(d, "/dev/stdout", "/var/log/weft/a.log"), "format": format}},
			m{"type": "Tcp", "tcp": m{"address": "logs:1", "format": format}},
			m{"type": "OpenTelemetry", "openTelemetry": m{"endpoint": "127.0.0.1:1", "body": name}})
		out = append(out, b)
	}
	return out
}

// tracer is one of each type.
func (d draw) tracer() m {
	at := "mark-" + one(d, "a", "b", "c")
	return one(d,
		m{"type": "Zipkin", "zipkin": m{"url": "http://127.0.0.1:1/" + at}},
		m{"type": "Zipkin", "zipkin": m{"url": "http://127.0.0.1:1/" + at, "traceId128bit": true}})
}
