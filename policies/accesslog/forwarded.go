package accesslog

import (
	"path"
	"regexp"
	"strings"

	otelv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/open_telemetry/v3"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/accesslog/format"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// fileName is the name of a file in the directory of logs.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// inDirectory is the name of a file directly below the directory of logs; not ok of other paths.
func inDirectory(file string) (name string, ok bool) {
	dir, name := path.Split(file)
	return name, dir == bootstrap.LogDirectory+"/" && fileName.MatchString(name)
}

// forwarded is where the agent of the sidecar sends the lines of b, and their format; empty where Envoy sends
// them itself, or nobody does. Envoy has no logger for TCP, and one for a file that it cannot open costs the
// listener (spec/kinds.md F12).
func (b *Backend) forwarded() (to string, lines *Format) {
	switch {
	case b.Type == typeTCP && b.TCP != nil:
		if _, _, err := policies.HostPort(b.TCP.Address, 0); err == nil {
			return bootstrap.LogTCP + b.TCP.Address, b.TCP.Format
		}
	case b.Type == typeFile && b.File != nil:
		if name, ok := inDirectory(b.File.Path); ok {
			return bootstrap.LogFile + name, b.File.Format
		}
	}
	return "", nil
}

// forward is the logger of lines that the agent sends on.
func (f filler) forward(to string, x *Format, id string, http bool) *otelv3.OpenTelemetryAccessLogConfig {
	body := []*commonv1.KeyValue{member(bootstrap.LogTo, stringValue(format.Literal(to)))}
	if x != nil && x.OmitEmptyValues != nil && *x.OmitEmptyValues {
		body = append(body, member(bootstrap.LogOmits, stringValue("yes")))
	}
	omits := len(body) > 1
	switch {
	case x != nil && x.Type == typeJSON:
		var members []*commonv1.KeyValue
		for _, m := range x.JSON {
			members = append(members, member(m.Key, parts(f.fill(m.Value))))
		}
		body = append(body, member(bootstrap.LogObject, listValue(members)))
	case x != nil && x.Plain != nil:
		body = append(body, member(bootstrap.LogText, lineParts(f.line(*x.Plain), omits)))
	default:
		body = append(body, member(bootstrap.LogText, lineParts(f.line(usualLine(http)), omits)))
	}
	return &otelv3.OpenTelemetryAccessLogConfig{
		LogName: "MeshAccessLog-" + id, GrpcService: envoy.ByGRPC(naming.SidecarCluster), DisableBuiltinLabels: true, Body: listValue(body),
		BufferFlushInterval: durationpb.New(bootstrap.LogFlush),
	}
}

// lineParts are those of a line. One that is written as Envoy finds it has one part.
func lineParts(line string, omits bool) *commonv1.AnyValue {
	if text := strings.TrimSuffix(line, "\n"); !omits && !strings.Contains(text, "\n") {
		return listValue([]*commonv1.KeyValue{member(bootstrap.PartText, stringValue(text))})
	}
	return parts(line)
}

// parts are those of a text for Envoy, each with what it is.
func parts(text string) *commonv1.AnyValue {
	read, err := format.Parse(text)
	if err != nil {
		return listValue([]*commonv1.KeyValue{member(bootstrap.PartLiteral, stringValue(format.Literal(text)))}) // only of a document that was stored before it was checked
	}
	var out []*commonv1.KeyValue
	for _, p := range read {
		kind := bootstrap.PartText
		switch {
		case p.Name == "" || p.Always():
			kind = bootstrap.PartLiteral
		case p.Number():
			kind = bootstrap.PartNumber
		case p.Value():
			kind = bootstrap.PartValue
		}
		out = append(out, member(kind, stringValue(p.Text)))
	}
	return listValue(out)
}

func member(key string, v *commonv1.AnyValue) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: key, Value: v}
}

func listValue(list []*commonv1.KeyValue) *commonv1.AnyValue {
	return &commonv1.AnyValue{Value: &commonv1.AnyValue_KvlistValue{KvlistValue: &commonv1.KeyValueList{Values: list}}}
}
