package server

import (
	"context"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/xds/resource"
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
	begun [kinds]bool // there was a request of the type
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
	if k, ok := kindOf(q.GetTypeUrl()); ok && !p.begun[k] {
		p.begun[k] = true
		p.st.bringing(k, q.GetInitialResourceVersions())
	}
	q.InitialResourceVersions = nil // which the library would keep
	return q, nil
}

// Send sends a response that CreateDeltaWatch made.
func (p *deltaRequests) Send(r *discoveryv3.DeltaDiscoveryResponse) error {
	p.st.sending(r.GetTypeUrl(), r.GetNonce())
	return p.st.server.sends.do(p.ctx, func() error { return p.deltaStream.Send(r) })
}

// share replaces names by the equal strings of shared resources, and returns that of their type:
// the library keeps them for as long as the stream lives, and many streams ask for the same.
func (st *stream) share(url string, list []string) string {
	k, ok := kindOf(url)
	if !ok {
		return url
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, name := range list {
		if r := st.desired(k, name); r != nil {
			list[i] = r.Name
		}
	}
	return urls[k]
}

// bringing takes what a client brings along of a type from an earlier stream, as it says
// in its first request for it.
func (st *stream) bringing(k kind, versions map[string]string) {
	if len(versions) == 0 {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	var want []*resource.Resource
	if st.want != nil {
		want = k.of(st.want)
	}
	var has []versioned
	other := map[string]string{}
	for name, version := range versions {
		if r := find(want, name); r != nil && r.Version == version {
			has = append(has, versioned{Resource: r, version: version})
		} else {
			other[name] = version
		}
	}
	if st.brings == nil {
		st.brings = map[kind]told{}
	}
	st.brings[k] = told{other: other}.with(want, has, nil)
}
