package xds

import (
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
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

// Escape keeps Envoy from reading a percent sign as the start of a command.
func Escape(value string) string { return strings.ReplaceAll(value, "%", "%%") }
