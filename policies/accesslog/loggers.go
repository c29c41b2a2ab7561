package accesslog

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	otelv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/open_telemetry/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/xds/envoy"
)

// namePrefix begins the names of the loggers of this kind; the id of the backend follows.
const namePrefix = "weft.log."

// logger is what writes to b at a place, for all that comes by. HTTP says that it is of requests.
func (b *Backend) logger(at envoy.Place, http bool) *accesslogv3.AccessLog {
	f := filler{at}
	var config proto.Message
	switch to, lines := b.forwarded(); {
	case to != "":
		config = f.forward(to, lines, b.id(), http)
	case b.Type == typeFile:
		// The loggers of streams open no path: a stdout that is a socket cannot be opened.
		lines := f.formatOf(b.File.Format, http)
		if b.File.Path == stderr {
			config = &streamv3.StderrAccessLog{AccessLogFormat: &streamv3.StderrAccessLog_LogFormat{LogFormat: lines}}
		} else {
			config = &streamv3.StdoutAccessLog{AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: lines}}
		}
	case b.Type == typeOpenTelemetry:
		config = b.OpenTelemetry.records(f, b.id(), http)
	}
	return &accesslogv3.AccessLog{Name: namePrefix + b.id(), ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: envoy.Pack(config)}}
}

// formatOf is x, or the usual line.
func (f filler) formatOf(x *Format, http bool) *corev3.SubstitutionFormatString {
	out := &corev3.SubstitutionFormatString{}
	if x != nil && x.OmitEmptyValues != nil {
		out.OmitEmptyValues = *x.OmitEmptyValues
	}
	switch {
	case x != nil && x.Type == typeJSON:
		members := map[string]string{}
		for _, m := range x.JSON {
			members[m.Key] = f.fill(m.Value)
		}
		out.Format = &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: envoy.TextStruct(members)}
	case x != nil && x.Plain != nil:
		out.Format = text(f.line(*x.Plain))
	default:
		out.Format = text(f.line(usualLine(http)))
	}
	return out
}

func text(line string) *corev3.SubstitutionFormatString_TextFormatSource {
	return &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: line}}}
}

// records are those that a collector gets.
func (o *OpenTelemetry) records(f filler, id string, http bool) *otelv3.OpenTelemetryAccessLogConfig {
	at, _ := o.collector()
	out := &otelv3.OpenTelemetryAccessLogConfig{
		LogName:            "MeshAccessLog-" + id,
		GrpcService:        envoy.ByGRPC(at.Name()),
		ResourceAttributes: &commonv1.KeyValueList{Values: []*commonv1.KeyValue{{Key: "kuma.mesh", Value: stringValue(f.at.Mesh)}}},
		Body:               f.body(o.Body, http),
	}
	if len(o.Attributes) > 0 {
		out.Attributes = &commonv1.KeyValueList{}
	}
	for _, a := range o.Attributes {
		out.Attributes.Values = append(out.Attributes.Values, &commonv1.KeyValue{Key: a.Key, Value: stringValue(f.fill(a.Value))})
	}
	return out
}

func stringValue(s string) *commonv1.AnyValue {
	return &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: s}}
}

// body is that of a record.
func (f filler) body(b any, http bool) *commonv1.AnyValue {
	switch b := b.(type) {
	case string:
		return stringValue(f.fill(b))
	case map[string]any:
		if v, err := anyValue(b); err == nil {
			f.fillValue(v)
			return v
		}
	}
	return stringValue(f.fill(usualLine(http)))
}

// fillValue fills in the texts of v.
func (f filler) fillValue(v *commonv1.AnyValue) {
	switch x := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		x.StringValue = f.fill(x.StringValue)
	case *commonv1.AnyValue_ArrayValue:
		for _, v := range x.ArrayValue.GetValues() {
			f.fillValue(v)
		}
	case *commonv1.AnyValue_KvlistValue:
		for _, kv := range x.KvlistValue.GetValues() {
			f.fillValue(kv.GetValue())
		}
	}
}

// mark is what a route with a list of its own says to the loggers of its listener.
func (c *Conf) mark() *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for i := range c.Backends {
		if b := &c.Backends[i]; b.written() {
			out.Fields[b.id()] = structpb.NewBoolValue(true)
		}
	}
	if len(out.Fields) == 0 {
		out.Fields["off"] = structpb.NewBoolValue(true)
	}
	return out
}
