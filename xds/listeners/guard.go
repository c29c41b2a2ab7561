package listeners

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// guard is a kind that decides who may come in.
type guard struct {
	kind string
	envoy.Guard
}

func guardsOf(kinds []*policies.Kind) []guard {
	var out []guard
	for _, k := range kinds {
		if g, ok := k.New().(envoy.Guard); ok {
			out = append(out, guard{k.Name, g})
		}
	}
	slices.SortFunc(out, func(a, b guard) int { return strings.Compare(a.kind, b.kind) })
	return out
}

// guardRequests are the HTTP filters that decide who may come in by a chain.
func (b *Builder) guardRequests(c chain) []*hcmv3.HttpFilter {
	if c.place.Chain == envoy.Unguarded {
		return nil
	}
	var out []*hcmv3.HttpFilter
	for _, g := range b.guards {
		out = append(out, g.GuardRequests(c.place)...)
	}
	return out
}

// guardConnections are the network filters that decide it where nobody reads requests.
func (b *Builder) guardConnections(c chain) []*listenerv3.Filter {
	if c.place.Chain == envoy.Unguarded || c.routes != "" {
		return nil
	}
	var out []*listenerv3.Filter
	for _, g := range b.guards {
		out = append(out, g.GuardConnections(c.conf(g.kind), c.place)...)
	}
	return out
}

// conf is what holds in the chain for a kind; nil for nothing.
func (c *chain) conf(kind string) policies.Conf {
	if e := c.ps.Of(kind); e != nil {
		return e.Conf
	}
	return nil
}

// knows makes socket, of a chain in which nobody reads requests, refuse in the handshake who
// has none of the names that one of guards wants: the workload may speak before the caller
// does, and filters are not asked until then (spec/identity.md F10).
func (b *Builder) knows(c *chain, context *tlsv3.CommonTlsContext) {
	if c.routes != "" {
		return
	}
	for _, g := range b.guards {
		names, ok := g.Callers(c.conf(g.kind))
		if !ok {
			continue
		}
		if len(names) == 0 { // of which there are none for Envoy
			names = []*matcherv3.StringMatcher{envoy.Exactly("nobody")}
		}
		expected := &tlsv3.CertificateValidationContext{}
		for _, name := range names {
			expected.MatchTypedSubjectAltNames = append(expected.MatchTypedSubjectAltNames, &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_URI, Matcher: name})
		}
		context.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext: expected, ValidationContextSdsSecretConfig: context.GetValidationContextSdsSecretConfig()}}
		return
	}
}

// revoked marks the chain of callers that have proved a name with the names that it is closed to:
// Envoy makes a chain anew that is another one, and drains the connections of the former. Who may
// call changes no chain otherwise.
func (b *Builder) revoked(c *chain) *corev3.Metadata {
	var names []any
	for _, g := range b.guards {
		for _, name := range g.Revoked(c.conf(g.kind)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	list, err := structpb.NewList(names)
	if err != nil {
		return nil // a name that is no UTF-8 is nobody's
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{revokedKey: {Fields: map[string]*structpb.Value{"identities": structpb.NewListValue(list)}}}}
}

// revokedKey is where a chain of filters says whom it is closed to by revocation.
const revokedKey = "weft.revoked"
