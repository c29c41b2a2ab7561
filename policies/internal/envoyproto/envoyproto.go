// Package envoyproto turns the values that several kinds of policy have in their
// confs into those of Envoy's messages.
//
// It promises that equal values give equal bytes. It knows no kind.
package envoyproto

import (
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Any packs m; it panics where that fails, which only a broken message can do.
func Any(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err)
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

// HeaderMatch is m as Envoy compares it.
func HeaderMatch(m route.HeaderMatch) *routev3.HeaderMatcher {
	h := &routev3.HeaderMatcher{Name: m.Name}
	text := func(s *matcherv3.StringMatcher) {
		h.HeaderMatchSpecifier = &routev3.HeaderMatcher_StringMatch{StringMatch: s}
	}
	switch {
	case m.Type == "Present", m.Type == "Prefix" && m.Value == "":
		h.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}
	case m.Type == "Absent":
		h.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: false}
	case m.Type == "Prefix":
		text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: m.Value}})
	case m.Type == "RegularExpression":
		text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
			SafeRegex: &matcherv3.RegexMatcher{Regex: m.Value},
		}})
	default:
		text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: m.Value}})
	}
	return h
}

// HeaderOption is a header to write, with its value taken literally.
func HeaderOption(h route.Header, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: h.Name, Value: Escape(h.Value)},
		AppendAction: action,
	}
}

// Escape keeps Envoy from reading a percent sign as the start of a command.
func Escape(value string) string { return strings.ReplaceAll(value, "%", "%%") }
