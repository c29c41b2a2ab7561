// Package check finds what Envoy would refuse: what its schema forbids, and what it only finds out when
// it builds an object.
package check

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	tcplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/local_ratelimit/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/hashicorp/go-multierror"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
)

// shortestFill is the shortest interval at which Envoy fills a local bucket.
const shortestFill = 50 * time.Millisecond

// validator is what protoc-gen-validate gives every message.
type validator interface{ ValidateAll() error }

// Route finds what Envoy refuses in a route: what its schema forbids, and
// what it only finds out when it builds the route.
func Route(r *routev3.Route) error {
	if err := r.ValidateAll(); err != nil {
		return err
	}
	var errs *multierror.Error
	for _, source := range regexesOf(r) {
		if err := match.CheckRegex("", source); err != nil {
			errs = multierror.Append(errs, fmt.Errorf("%.40q: %w", source, err))
		}
	}
	errs = multierror.Append(errs,
		checkHeaders(r.RequestHeadersToAdd, r.RequestHeadersToRemove, route.SetInRequest, route.RemoveFromRequest),
		checkHeaders(r.ResponseHeadersToAdd, r.ResponseHeadersToRemove, route.SetInAnswer, route.RemoveFromAnswer),
		checkRetry(r.GetRoute().GetRetryPolicy()), checkDurations(r.GetRoute()), checkWeights(r.GetRoute().GetWeightedClusters()))
	for _, config := range r.TypedPerFilterConfig {
		errs = multierror.Append(errs, Extension(config))
	}
	return errs.ErrorOrNil()
}

// checkHeaders refuses changes to what is no header, the host and the pseudo
// headers, and to what cannot be changed.
func checkHeaders(add []*corev3.HeaderValueOption, remove []string, adds, removes route.HeaderChange) error {
	check := func(change route.HeaderChange, h route.Header) error {
		if strings.HasPrefix(h.Name, ":") || strings.EqualFold(h.Name, "host") {
			return fmt.Errorf("header %q cannot be changed", h.Name)
		}
		if why := route.Fixed(change, h); why != "" {
			return fmt.Errorf("header %q cannot be changed: %s", h.Name, why)
		}
		return nil
	}
	var errs []error
	for _, name := range remove {
		errs = append(errs, check(removes, route.Header{Name: name}))
	}
	for _, h := range add {
		errs = append(errs, check(adds, route.Header{Name: h.GetHeader().GetKey(), Value: h.GetHeader().GetValue()}))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, h := range add {
		if value := h.GetHeader().GetValue(); envoy.ForeignOperator(value) {
			return fmt.Errorf("value %q holds a command operator that weft does not use", value)
		}
	}
	return nil
}

// checkDurations refuses times that run backwards.
func checkDurations(a *routev3.RouteAction) error {
	for _, d := range []*durationpb.Duration{a.GetTimeout(), a.GetIdleTimeout(), a.GetRetryPolicy().GetPerTryTimeout()} {
		if d.AsDuration() < 0 {
			return fmt.Errorf("a timeout of %v", d.AsDuration())
		}
	}
	return nil
}

// checkWeights refuses a split that nobody or nothing adds up to.
func checkWeights(w *routev3.WeightedCluster) error {
	var sum uint64
	for _, c := range w.GetClusters() {
		sum += uint64(c.GetWeight().GetValue())
	}
	if w != nil && (sum == 0 || sum > math.MaxUint32) {
		return fmt.Errorf("weights that add up to %d", sum)
	}
	return nil
}

func checkRetry(p *routev3.RetryPolicy) error {
	var errs *multierror.Error
	if b := p.GetRetryBackOff(); b.GetMaxInterval() != nil && b.GetMaxInterval().AsDuration() < b.GetBaseInterval().AsDuration() {
		errs = multierror.Append(errs, errors.New("the longest back-off is shorter than the first"))
	}
	for _, host := range p.GetRetryHostPredicate() {
		errs = multierror.Append(errs, Extension(host.GetTypedConfig()))
	}
	if priority := p.GetRetryPriority(); priority != nil {
		errs = multierror.Append(errs, Extension(priority.GetTypedConfig()))
	}
	return errs.ErrorOrNil()
}

// Extension looks into a configuration that is packed.
func Extension(config *anypb.Any) error {
	m, err := config.UnmarshalNew()
	if err != nil {
		return err
	}
	return checkMessage(m)
}

func checkMessage(m proto.Message) error {
	if v, ok := m.(validator); ok {
		if err := v.ValidateAll(); err != nil {
			return err
		}
	}
	switch m := m.(type) {
	case *corsv3.CorsPolicy:
		for _, o := range m.GetAllowOriginStringMatch() {
			if x := o.GetSafeRegex(); x != nil {
				if err := match.CheckRegex("", x.GetRegex()); err != nil {
					return fmt.Errorf("%.40q: %w", x.GetRegex(), err)
				}
			}
		}

	case *httplimitv3.LocalRateLimit:
		return errors.Join(checkBucket(m.GetTokenBucket()), checkHeaders(m.GetResponseHeadersToAdd(), nil, route.SetInAnswer, route.RemoveFromAnswer))
	case *tcplimitv3.LocalRateLimit:
		return checkBucket(m.GetTokenBucket())
	}
	return nil
}

func checkBucket(b *typev3.TokenBucket) error {
	if b != nil && b.GetFillInterval().AsDuration() < shortestFill {
		return fmt.Errorf("a bucket is filled every %v; at least %v", b.GetFillInterval().AsDuration(), shortestFill)
	}
	return nil
}

// regexesOf are all expressions of a route.
func regexesOf(r *routev3.Route) []string {
	var out []string
	add := func(x *matcherv3.RegexMatcher) {
		if x != nil {
			out = append(out, x.Regex)
		}
	}
	headers := func(list []*routev3.HeaderMatcher) {
		for _, h := range list {
			add(h.GetStringMatch().GetSafeRegex())
		}
	}
	match := r.GetMatch()
	add(match.GetSafeRegex())
	headers(match.GetHeaders())
	for _, q := range match.GetQueryParameters() {
		add(q.GetStringMatch().GetSafeRegex())
	}
	for _, c := range match.GetCookies() {
		add(c.GetStringMatch().GetSafeRegex())
	}
	for _, d := range match.GetDynamicMetadata() {
		add(d.GetValue().GetStringMatch().GetSafeRegex())
	}
	headers(r.GetRoute().GetRetryPolicy().GetRetriableHeaders())
	headers(r.GetRoute().GetRetryPolicy().GetRetriableRequestHeaders())
	return out
}
