package policytest

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/accesslog"
	"github.com/weftmesh/weft/policies/metric"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/trace"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/route"
)

// AnyConf is a conf of the kind that a document may hold: some leaves, or none,
// each with a value that is sound by itself.
func AnyConf(t *rapid.T, k *policies.Kind) policies.Conf {
	c := k.New()
	fill(t, k, reflect.ValueOf(c).Elem(), "")
	return c
}

// fill sets some of the leaves below v, which stands at path.
func fill(t *rapid.T, k *policies.Kind, v reflect.Value, path string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		if !rapid.Bool().Draw(t, at+" is there") {
			continue
		}
		if _, leaf := f.Tag.Lookup("weft"); leaf {
			v.Field(i).Set(value(t, k, f, at))
			continue
		}
		block := reflect.New(f.Type.Elem())
		fill(t, k, block.Elem(), at)
		// A conf says where its values are; an empty block is not a value.
		if !block.Elem().IsZero() {
			v.Field(i).Set(block)
		}
	}
}

// value is a sound value of a leaf.
func value(t *rapid.T, k *policies.Kind, f reflect.StructField, at string) reflect.Value {
	typ, tag := f.Type, jsonschema.TagOf(f)
	g, ok := lists[typ]
	if !ok {
		g, ok = special[at[strings.LastIndex(at, ".")+1:]]
	}
	if ok {
		if v := reflect.ValueOf(g(t, at)); v.Type() == typ { // else another kind has a field of that name
			return v
		}
	}
	if list := examples(t, k, typ, at); list != nil && tag["enum"] == "" {
		return reflect.ValueOf(rapid.SampledFrom(list).Draw(t, at))
	}
	if typ.Kind() == reflect.Slice {
		return reflect.MakeSlice(typ, 0, 0)
	}
	p := reflect.New(typ.Elem())
	switch v := p.Interface().(type) {
	case *string:
		*v = rapid.SampledFrom(strings.Split(tag["enum"], "|")).Draw(t, at)
	case *policies.Decimal:
		*v = policies.Decimal(rapid.SampledFrom([]string{"1", "1.9", "0.125"}).Draw(t, at))
	case *int32:
		*v = int32(between(t, tag, at))
	case *bool:
		*v = rapid.Bool().Draw(t, at)
	case *policies.Percentage:
		*v = policies.Percentage(rapid.SampledFrom([]string{"0", "1", "2.5", "0.125", "100"}).Draw(t, at))
	case *uint32:
		*v = uint32(between(t, tag, at))
	case *api.Duration:
		least := 0
		if tag["is"] == "positive" {
			least = 1
		}
		*v = anyDuration(t, at, least)
	default:
		t.Fatalf("no generator for %s of type %v", at, typ)
	}
	return p
}

// examples are the values of a type that leaves have in the example of a kind, where the type alone does not say
// what is sound; nil for none. Texts are those of the leaf at a path.
func examples(t *rapid.T, k *policies.Kind, typ reflect.Type, at string) (out []any) {
	if typ.Kind() == reflect.Pointer && typ.Elem().Kind() != reflect.String && typ.Elem().Kind() != reflect.Struct {
		return nil
	}
	if typ == reflect.TypeFor[*policies.Decimal]() || typ == reflect.TypeFor[*policies.Percentage]() {
		return nil
	}
	objects, err := decode.Objects(CatalogOf(k), k.Name, []byte(k.Example))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	for _, o := range objects {
		s := o.Spec.(*policies.Spec)
		for i := range s.To {
			for _, leaf := range s.To[i].Leaves() {
				if reflect.TypeOf(leaf.Value) == typ && (typ != reflect.TypeFor[*string]() || k.Schema.Leaves[leaf.Field].Path == at) {
					out = append(out, leaf.Value)
				}
			}
		}
	}
	return out
}

// between is a number within the bounds that a tag says.
func between(t *rapid.T, tag jsonschema.Tag, at string) int {
	least, err := strconv.Atoi(cmp.Or(tag["min"], "0"))
	most, err2 := strconv.Atoi(cmp.Or(tag["max"], strconv.Itoa(least+10)))
	if err != nil || err2 != nil {
		t.Fatalf("the tag of %s has no numbers", at)
	}
	return rapid.IntRange(least, min(most, least+10)).Draw(t, at)
}

func anyDuration(t *rapid.T, at string, least int) api.Duration {
	return api.Duration(time.Duration(rapid.IntRange(least, 100_000).Draw(t, at)) * time.Millisecond)
}

// lists are the leaves that kinds name alike and mean differently.
var lists = map[reflect.Type]func(t *rapid.T, at string) any{
	reflect.TypeFor[[]accesslog.Backend](): anyLogs,
	reflect.TypeFor[[]trace.Backend]():     anyTracer,
	reflect.TypeFor[[]metric.Backend]():    anyMetrics,
	reflect.TypeFor[[]metric.Application](): func(t *rapid.T, at string) any {
		return rapid.SampledFrom([][]metric.Application{{}, {{Port: 8080}}, {{Name: "a", Port: 8080}, {Name: "b", Port: 8080, Path: "/stats"}}}).Draw(t, at)
	},
	reflect.TypeFor[[]metric.Profile](): func(t *rapid.T, at string) any {
		return rapid.SampledFrom([][]metric.Profile{{}, {{Name: "All"}}, {{Name: "Basic"}, {Name: "None"}}}).Draw(t, at)
	},
	reflect.TypeFor[[]metric.Selector](): func(t *rapid.T, at string) any {
		return rapid.SampledFrom([][]metric.Selector{{}, {{Type: "Regex", Match: "_rq_[0-9]xx$"}, {Type: "Exact", Match: "envoy_server_live"}}}).Draw(t, at)
	},
}

// special are the leaves whose type alone does not say what is sound.
var special = map[string]func(t *rapid.T, at string) any{
	"connectionTimeout":        positive,
	"baseInterval":             positive,
	"maxInterval":              positive,
	"maxConnectAttempt":        func(t *rapid.T, at string) any { return new(rapid.Uint32Range(1, 9).Draw(t, at)) },
	"hostSelectionMaxAttempts": func(t *rapid.T, at string) any { return new(rapid.Int64Range(1, 9).Draw(t, at)) },
	"status": func(t *rapid.T, at string) any {
		return new(rapid.SampledFrom([]uint32{302, 400, 423, 429, 503}).Draw(t, at))
	},
	"requestRate":              anyRate,
	"connectionRate":           anyRate,
	"retriableResponseHeaders": anyHeaderMatches,
	"retriableRequestHeaders":  anyHeaderMatches,
	"set":                      func(t *rapid.T, at string) any { return anyHeaders(t, at, "x-set-") },
	"add":                      func(t *rapid.T, at string) any { return anyHeaders(t, at, "x-add-") },
	"resetHeaders": func(t *rapid.T, at string) any {
		return []retry.ResetHeader{{Name: "retry-after", Format: rapid.SampledFrom([]string{"Seconds", "UnixTimestamp"}).Draw(t, at)}}
	},
	"tableSize":     func(t *rapid.T, at string) any { return new(rapid.SampledFrom([]uint32{2, 11, 65537}).Draw(t, at)) },
	"hostSelection": anyHosts,
	"mode":          oneOf("Strict", "Permissive"),
	"min":           oneOf("TLSAuto", "TLS12"),
	"max":           oneOf("TLSAuto", "TLS13"),
	"tlsCiphers": func(t *rapid.T, at string) any {
		return some(t, at, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256")
	},
	"tags":                anyTags,
	"action":              oneOf("Allow", "Deny", "AllowWithShadowDeny"),
	"deny":                anyCallers,
	"allow":               anyCallers,
	"allowWithShadowDeny": anyCallers,
	"retryOn": func(t *rapid.T, at string) any {
		if strings.HasPrefix(at, "grpc") {
			return some(t, at, "Canceled", "DeadlineExceeded", "Internal", "ResourceExhausted", "Unavailable")
		}
		return some(t, at, "5xx", "GatewayError", "Reset", "ResetBeforeRequest", "Retriable4xx", "ConnectFailure", "EnvoyRatelimited",
			"RefusedStream", "Http3PostConnectFailure", "HttpMethodGet", "HttpMethodPost", "404", "500", "503")
	},
}

func anyLogs(t *rapid.T, at string) any {
	list := []accesslog.Backend{}
	for range rapid.IntRange(0, 3).Draw(t, at) {
		line := &accesslog.Format{Type: "Plain", Plain: new(rapid.SampledFrom([]string{"%RESPONSE_CODE%", "100%% %KUMA_SOURCE_SERVICE%->%KUMA_DESTINATION_SERVICE%\n", "%REQ(X-A?:PATH):9%"}).Draw(t, at))}
		if rapid.Bool().Draw(t, at+" as JSON") {
			line = &accesslog.Format{Type: "Json", JSON: []accesslog.KeyValue{{Key: "mesh", Value: "%KUMA_MESH%"}, {Key: "%", Value: "%PROTOCOL%"}}, OmitEmptyValues: new(true)}
		}
		if rapid.Bool().Draw(t, at+" to a collector") {
			list = append(list, accesslog.Backend{Type: "OpenTelemetry", OpenTelemetry: &accesslog.OpenTelemetry{
				Endpoint: new(rapid.SampledFrom([]string{"collector", "127.0.0.1:9", "[::1]:4317"}).Draw(t, at)), Attributes: []accesslog.KeyValue{{Key: "code", Value: "%RESPONSE_CODE%"}},
				Body: rapid.SampledFrom([]any{nil, "%PROTOCOL%", map[string]any{"stringValue": "%KUMA_ZONE%"}}).Draw(t, at),
			}})
			continue
		}
		list = append(list, accesslog.Backend{Type: "File", File: &accesslog.File{Path: rapid.SampledFrom([]string{"/dev/stdout", "/dev/stderr", "/tmp/x"}).Draw(t, at), Format: line}})
	}
	return list
}

func oneOf(words ...string) func(t *rapid.T, at string) any {
	return func(t *rapid.T, at string) any { return new(rapid.SampledFrom(words).Draw(t, at)) }
}

func anyCallers(t *rapid.T, at string) any {
	list := []trafficpermission.Match{}
	for range rapid.IntRange(0, 3).Draw(t, at) {
		m := trafficpermission.Match{}
		if rapid.Bool().Draw(t, at+" is known") {
			m.SpiffeID = &policies.ValueMatch{Type: rapid.SampledFrom([]string{"Exact", "Prefix"}).Draw(t, at), Value: rapid.SampledFrom([]string{"spiffe://default/web", "spiffe://td/ns/a"}).Draw(t, at)}
		} else {
			m.Anonymous = new(true)
		}
		if rapid.Bool().Draw(t, at+" over HTTP") {
			m.HTTP = &trafficpermission.HTTPMatch{Methods: []string{"GET"}}
		}
		list = append(list, m)
	}
	return list
}

func anyTracer(t *rapid.T, at string) any {
	return rapid.SampledFrom([][]trace.Backend{
		{},
		{{Type: "Zipkin", Zipkin: &trace.Zipkin{URL: "https://zipkin/spans"}}},
		{{Type: "Datadog", Datadog: &trace.Datadog{URL: "http://192.0.2.1:8126", SplitService: true}}},
		{{Type: "OpenTelemetry", OpenTelemetry: &trace.OpenTelemetry{Endpoint: "collector:4317"}}},
	}).Draw(t, at)
}

func anyMetrics(t *rapid.T, at string) any {
	return rapid.SampledFrom([][]metric.Backend{
		{},
		{{Type: "Prometheus", Prometheus: &metric.Prometheus{}}},
		{{Type: "Prometheus", Prometheus: &metric.Prometheus{Port: new(uint32(5671)), Path: "/m", TLS: &metric.TLS{Mode: "ProvidedTLS"}}}, {Type: "OpenTelemetry", OpenTelemetry: &metric.OpenTelemetry{Endpoint: "collector:4317"}}},
	}).Draw(t, at)
}

func anyTags(t *rapid.T, at string) any {
	return rapid.SampledFrom([][]trace.Tag{{}, {{Name: "a", Literal: "b"}, {Name: "c", Header: &trace.Header{Name: "x-c", Default: "d"}}}}).Draw(t, at)
}

func anyRate(t *rapid.T, at string) any {
	return &ratelimit.Rate{Num: new(rapid.Uint32Range(1, 9).Draw(t, at)), Interval: new(anyDuration(t, at, 51))}
}

func anyHosts(t *rapid.T, at string) any {
	list := []retry.HostSelection{}
	if rapid.Bool().Draw(t, at) {
		list = append(list, retry.HostSelection{Predicate: "OmitPreviousHosts"})
	}
	if rapid.Bool().Draw(t, at) {
		list = append(list, retry.HostSelection{Predicate: "OmitHostsWithTags", Tags: map[string]string{"a": "1", "b": "2", "c": "3"}})
	}
	if rapid.Bool().Draw(t, at) {
		list = append(list, retry.HostSelection{Predicate: "OmitPreviousPriorities", UpdateFrequency: new(rapid.Int32Range(1, 5).Draw(t, at))})
	}
	return list
}

func positive(t *rapid.T, at string) any { return new(anyDuration(t, at, 1)) }

func some(t *rapid.T, at string, words ...string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 4, rapid.ID).Draw(t, at)
}

func anyHeaders(t *rapid.T, at, prefix string) []route.Header {
	list := []route.Header{}
	for i := range rapid.IntRange(0, 3).Draw(t, at) {
		list = append(list, route.Header{Name: prefix + string(rune('a'+i)), Value: rapid.SampledFrom([]string{"", "a,b", "50%", "%%"}).Draw(t, at)})
	}
	return list
}

func anyHeaderMatches(t *rapid.T, at string) any {
	list := []policies.HeaderMatch{}
	for range rapid.IntRange(0, 3).Draw(t, at) {
		m := policies.HeaderMatch{
			Type: rapid.SampledFrom([]string{"", "Exact", "Present", "Absent", "Prefix", "RegularExpression"}).Draw(t, at),
			Name: rapid.SampledFrom([]string{"x-a", "x-b"}).Draw(t, at),
		}
		if m.Type != "Present" && m.Type != "Absent" {
			m.Value = rapid.SampledFrom([]string{"a", "ab", "b.*", `\xC3.`, `[^a]\pL*`}).Draw(t, at)
		}
		list = append(list, m)
	}
	return list
}
