package server

import (
	"context"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/server/subscription"
)

// fullStream is a stream of the state-of-the-world form, deltaStream one of the delta form.
type (
	fullStream  = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer
	deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
)

// sotwRequests is a stream as the library's engine sees it: every request comes from
// the node that was authenticated, whatever it says, and every response waits
// for its turn.
type sotwRequests struct {
	fullStream
	ctx   context.Context
	st    *stream
	first *discoveryv3.DiscoveryRequest
}

// Context ends with the session.
func (f *sotwRequests) Context() context.Context { return f.ctx }

// Recv gives the request that was read to learn who it is, then all others.
func (f *sotwRequests) Recv() (*discoveryv3.DiscoveryRequest, error) {
	q, err := next(&f.first, f.fullStream.Recv)
	if err != nil {
		return nil, err
	}
	if err := f.st.bound(q.GetResourceNames(), nil); err != nil {
		return nil, err
	}
	q.Node, q.TypeUrl = f.st.node, f.st.share(q.GetTypeUrl(), q.GetResourceNames())
	return q, nil
}

// Send sends a response that CreateWatch made.
func (f *sotwRequests) Send(r *discoveryv3.DiscoveryResponse) error {
	f.st.sending(r.GetTypeUrl(), r.GetNonce())
	return f.st.server.sends.do(f.ctx, func() error { return f.fullStream.Send(r) })
}

// deltaRequests is sotwRequests for the delta form.
type deltaRequests struct {
	deltaStream
	ctx   context.Context
	st    *stream
	first *discoveryv3.DeltaDiscoveryRequest
	begun [subscription.Types]bool // there was a request of the type
}

// Context ends with the session.
func (p *deltaRequests) Context() context.Context { return p.ctx }

// Recv gives the request that was read to learn who it is, then all others.
func (p *deltaRequests) Recv() (*discoveryv3.DeltaDiscoveryRequest, error) {
	q, err := next(&p.first, p.deltaStream.Recv)
	if err != nil {
		return nil, err
	}
	if err := p.st.bound(q.GetResourceNamesSubscribe(), q.GetInitialResourceVersions()); err != nil {
		return nil, err
	}
	q.Node, q.TypeUrl = p.st.node, p.st.share(q.GetTypeUrl(), q.GetResourceNamesSubscribe())
	if t, ok := subscription.TypeOf(q.GetTypeUrl()); ok && !p.begun[t] {
		p.begun[t] = true
		p.st.bring(t, q.GetInitialResourceVersions())
	}
	q.InitialResourceVersions = nil // which the library would keep
	return q, nil
}

// Send sends a response that CreateDeltaWatch made.
func (p *deltaRequests) Send(r *discoveryv3.DeltaDiscoveryResponse) error {
	p.st.sending(r.GetTypeUrl(), r.GetNonce())
	return p.st.server.sends.do(p.ctx, func() error { return p.deltaStream.Send(r) })
}

// What one stream may ask for. The library keeps every name for as long as the
// stream lives, whether or not there is such a resource.
const (
	// mostNames of one type: several times what a sidecar with thousands of
	// outbounds, each split into subsets, asks for.
	mostNames = 32 << 10
	// longestName is well beyond two names of Kubernetes with a port and a hash.
	longestName = 1 << 10
)

// request is one of either form.
type request interface {
	comparable
	GetTypeUrl() string
}

// next is the request that was read already, or the next one of a type that
// there is something of: requests of other types are never answered, and the
// engine would keep each for good. It refuses those without a type itself.
func next[Q request](first *Q, recv func() (Q, error)) (Q, error) {
	var none Q
	q := *first
	*first = none
	for {
		if q == none {
			var err error
			if q, err = recv(); err != nil {
				return none, err
			}
		}
		if _, ok := subscription.TypeOf(q.GetTypeUrl()); ok || q.GetTypeUrl() == "" {
			return q, nil
		}
		q = none
	}
}

// tooMuch is why one request asks for too much; nil where it does not.
func tooMuch(names []string, versions map[string]string) error {
	err := tooMany(max(len(names), len(versions)))
	for _, name := range names {
		if len(name) > longestName {
			err = errLong
		}
	}
	for name, version := range versions {
		if max(len(name), len(version)) > longestName {
			err = errLong
		}
	}
	return err
}

var errLong = status.Errorf(codes.ResourceExhausted, "the name of a resource is longer than %d bytes; weft has none such", longestName)

// tooMany refuses n names of one type.
func tooMany(n int) error {
	if n <= mostNames {
		return nil
	}
	return status.Errorf(codes.ResourceExhausted, "%d names of one type are more than the %d that a stream may ask for; ask for those that the listeners and clusters name", n, mostNames)
}
