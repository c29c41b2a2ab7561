package retry

import (
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	omittagsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/omit_host_metadata/v3"
	omithostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	prioritiesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/priority/previous_priorities/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/matchers"
)

// updateFrequency is that of OmitPreviousPriorities where a policy names none.
const updateFrequency = 2

// WriteRoute sets the route's retry policy; a route with no retries has none.
func (c *Conf) WriteRoute(r *routev3.Route, p envoy.Place) {
	action := r.GetRoute()
	s, http, ok := c.block(p.Protocol)
	if action == nil || !ok || s.count() == 0 {
		return
	}
	policy := s.policy()
	if http != nil && http.extend(policy) != nil {
		return
	}
	// Of the two connections on the way the one to the workload fails as harmlessly as the other.
	if s.conditions.repeats("ConnectFailure") && !p.Outside {
		filters.RepeatUnsent(policy)
	}
	if len(policy.RetriableHeaders) > 0 && !s.conditions.has("RetriableHeaders") {
		policy.RetryOn += "," + headerWord
	}
	action.RetryPolicy = policy
}

// policy is what both blocks have in common.
func (s shared) policy() *routev3.RetryPolicy {
	base, longest := s.interval()
	p := &routev3.RetryPolicy{
		RetryOn:              s.conditions.envoy(),
		NumRetries:           wrapperspb.UInt32(s.count()),
		PerTryTimeout:        envoy.Duration(s.perTry),
		RetriableStatusCodes: s.conditions.statuses,
		RetryBackOff:         &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(base)},
	}
	if s.max != nil {
		p.RetryBackOff.MaxInterval = durationpb.New(longest)
	}
	if len(s.reset) > 0 {
		b := &routev3.RetryPolicy_RateLimitedRetryBackOff{MaxInterval: envoy.Duration(s.rateLimitedMax)}
		for _, h := range s.reset {
			b.ResetHeaders = append(b.ResetHeaders, &routev3.RetryPolicy_ResetHeader{Name: h.Name, Format: formats[h.Format]})
		}
		p.RateLimitedRetryBackOff = b
	}
	return p
}

// envoy is the list that Envoy takes, in the order of the document.
func (c conditions) envoy() string {
	var on []string
	for _, w := range c.words {
		if !slices.Contains(on, w.envoy) {
			on = append(on, w.envoy)
		}
	}
	if len(c.statuses) > 0 && !slices.Contains(on, statusWord) {
		on = append(on, statusWord)
	}
	return strings.Join(on, ",")
}

// extend adds what only the http block has.
func (h *HTTP) extend(p *routev3.RetryPolicy) error {
	request, answer, err := h.headers()
	if err != nil {
		return err
	}
	for i := range answer {
		p.RetriableHeaders = append(p.RetriableHeaders, matchers.Header(&answer[i]))
	}
	for i := range request {
		p.RetriableRequestHeaders = append(p.RetriableRequestHeaders, matchers.Header(&request[i]))
	}
	for _, s := range h.HostSelection {
		s.write(p)
	}
	if n := h.HostSelectionMaxAttempts; n != nil {
		p.HostSelectionRetryMaxAttempts = *n
	}
	return nil
}

// headers are the conditions of which a request needs one to be repeated, methods
// first, and those of which one repeats an answer. An error is a condition that
// nothing can be asked, which validation refuses: nothing is repeated then, for
// without it more would be than was meant.
func (h *HTTP) headers() (request, answer match.Conditions, err error) {
	for _, m := range parse(h.RetryOn, nil).methods {
		c, err := match.Compare(match.OnMethod, "", match.Equal, 0, m)
		if err != nil {
			return nil, nil, err
		}
		request = append(request, c)
	}
	for _, list := range []struct {
		from []policies.HeaderMatch
		to   *match.Conditions
	}{{h.RetriableRequestHeaders, &request}, {h.RetriableResponseHeaders, &answer}} {
		for _, m := range list.from {
			c, err := m.Condition()
			if err != nil {
				return nil, nil, fmt.Errorf("header %s: %w", m.Name, err)
			}
			*list.to = append(*list.to, c)
		}
	}
	return request, answer, nil
}

func (s HostSelection) write(p *routev3.RetryPolicy) {
	host := func(name string, config *routev3.RetryPolicy_RetryHostPredicate_TypedConfig) {
		p.RetryHostPredicate = append(p.RetryHostPredicate,
			&routev3.RetryPolicy_RetryHostPredicate{Name: "envoy.retry_host_predicates." + name, ConfigType: config})
	}
	switch s.Predicate {
	case omitHosts:
		host("previous_hosts", &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
			TypedConfig: envoy.Pack(&omithostsv3.PreviousHostsPredicate{}),
		})
	case omitTags:
		tags := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for k, v := range s.Tags {
			tags.Fields[k] = structpb.NewStringValue(v)
		}
		host("omit_host_metadata", &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
			TypedConfig: envoy.Pack(&omittagsv3.OmitHostMetadataConfig{
				MetadataMatch: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"envoy.lb": tags}},
			}),
		})
	case omitPriorities:
		frequency := int32(updateFrequency)
		if s.UpdateFrequency != nil {
			frequency = *s.UpdateFrequency
		}
		p.RetryPriority = &routev3.RetryPolicy_RetryPriority{
			Name: "envoy.retry_priorities.previous_priorities",
			ConfigType: &routev3.RetryPolicy_RetryPriority_TypedConfig{
				TypedConfig: envoy.Pack(&prioritiesv3.PreviousPrioritiesConfig{UpdateFrequency: frequency}),
			},
		}
	}
}

// WriteTCP sets how often a connection is tried.
func (c *Conf) WriteTCP(t *tcpproxyv3.TcpProxy, _ envoy.Place) {
	if c.TCP != nil && c.TCP.MaxConnectAttempt != nil {
		t.MaxConnectAttempts = wrapperspb.UInt32(*c.TCP.MaxConnectAttempt)
	}
}
