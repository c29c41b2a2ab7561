package envoy

import (
	"regexp"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// The values that routes and several kinds of policy write alike.

// Pack puts m into an Any with the same bytes every time.
func Pack(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic("marshal: " + err.Error()) // only for text that is no UTF-8, which decoding never lets in
	}
	return a
}

// Configure puts what a route or a host says to the named filter among the rest.
func Configure(filters *map[string]*anypb.Any, name string, config proto.Message) {
	if *filters == nil {
		*filters = map[string]*anypb.Any{}
	}
	(*filters)[name] = Pack(config)
}

// Duration is d, zero included; nil stays nil.
func Duration(d *api.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(time.Duration(*d))
}

// HeaderOption is a header to write, with its value taken literally: an empty
// one is a value too, and a percent sign begins no command.
func HeaderOption(h route.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header: &corev3.HeaderValue{Key: h.Name, Value: Escape(h.Value)}, AppendAction: action,
		KeepEmptyValue: true,
	}
}

// FilledOption is a header whose value Envoy puts together; where nothing comes out of it
// the header stays as it is.
func FilledOption(f *route.Filled) *corev3.HeaderValueOption {
	value := f.Value(func(p route.Part) string { return Escape(p.Text) + p.Operator() })
	action := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
	if f.Add {
		action = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
	}
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: f.Name, Value: value}, AppendAction: action}
}

// operators are those that a value may have, one that stands for a percent sign among them.
var operators = regexp.MustCompile(`%%|%(REQ\([-\w]+\)|RESP\([-\w]+\)|` + facts() + `)%`)

func facts() string {
	var names []string
	for _, f := range append([]route.Fact{route.OfPath, route.OfMethod}, route.Facts...) {
		names = append(names, regexp.QuoteMeta(string(f)))
	}
	return strings.Join(names, "|")
}

// ForeignOperator reports whether Envoy would read something else in a value than text and
// operators that it has.
func ForeignOperator(value string) bool {
	return strings.Contains(operators.ReplaceAllString(value, ""), "%")
}

// Escape keeps Envoy from reading a percent sign as the start of a command.
func Escape(value string) string { return strings.ReplaceAll(value, "%", "%%") }

// Fraction is a percentage as Envoy counts shares of requests; nil stays nil.
func Fraction(p *policies.Percentage) *typev3.FractionalPercent {
	if p == nil {
		return nil
	}
	n, _ := p.Millionths()
	switch digits := p.Decimals(); {
	case digits == 0:
		return &typev3.FractionalPercent{Numerator: n / 10_000}
	case digits <= 2:
		return &typev3.FractionalPercent{Numerator: n / 100, Denominator: typev3.FractionalPercent_TEN_THOUSAND}
	}
	return &typev3.FractionalPercent{Numerator: n, Denominator: typev3.FractionalPercent_MILLION}
}

// Percent is a percentage as Envoy's Percent; nil stays nil.
func Percent(p *policies.Percentage) *typev3.Percent {
	if p == nil {
		return nil
	}
	n, _ := p.Millionths()
	return &typev3.Percent{Value: float64(n) / 10_000}
}
