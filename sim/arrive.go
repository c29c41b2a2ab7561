package sim

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// arrive makes of the request that the caller's sidecar sends the one that the
// workloads get: their own sidecars read it anew, as that of the caller did.
func (b *Branch) arrive() {
	for i := range b.Backends {
		x := &b.Backends[i]
		sent := b.sentTo(i)
		got := sent.reread(x.http2)
		for k := range x.Inbounds {
			x.Inbounds[k].read(got, x.http2)
		}
		reads := func(in Inbound) bool { return in.Protocol.HTTPLike() }
		if upgradeOf(sent.Headers) == webSocket && x.asksInHTTP2() {
			b.unknown = append(b.unknown, "upgrade: the workloads of "+x.Name+" are asked for a WebSocket in HTTP/2 (RFC 8441), which few servers understand")
		}
		if got.same(sent) || !slices.ContainsFunc(x.Inbounds, reads) {
			continue
		}
		if slices.ContainsFunc(x.Inbounds, func(in Inbound) bool { return !reads(in) }) {
			b.unknown = append(b.unknown, "forwarded: some dataplanes of "+x.Name+" get it as it is, for their sidecars read no HTTP; those of the others change it once more")
			continue
		}
		b.send(i, got)
	}
}

// sentTo is the request that backend n gets.
func (b *Branch) sentTo(n int) *Forwarded {
	if own := b.Backends[n].Forwarded; own != nil {
		return own
	}
	return b.Forwarded
}

// send gives backend n a request of its own.
func (b *Branch) send(n int, f *Forwarded) {
	if len(b.Backends) == 1 {
		b.Forwarded = f
	} else {
		b.Backends[n].Forwarded = f
	}
}

// read is what the sidecar of in makes of f before it does anything with it. In
// HTTP/1 it answers a method that it does not know, whatever the workload would.
func (in *Inbound) read(f *Forwarded, http2 bool) {
	in.grpc = f.Headers.grpc()
	if in.Protocol.HTTPLike() && !http2 && !slices.Contains(known, f.Method) {
		in.Outcome, in.Status = Respond, http.StatusBadRequest
	}
}

// asksInHTTP2 reports whether some workloads of x get their requests so.
func (x *Backend) asksInHTTP2() bool {
	return x.http2 && len(x.Inbounds) == 0 || slices.ContainsFunc(x.Inbounds, func(in Inbound) bool {
		return in.Protocol == api.HTTP2 || in.Protocol == api.GRPC || x.http2 && !in.Protocol.HTTPLike()
	})
}

// reread is f after a sidecar in front of a workload has read it.
func (f *Forwarded) reread(http2 bool) *Forwarded {
	got := *f
	path, query, asks := strings.Cut(f.Path, "?")
	if path, ok := normalize(path); ok {
		got.Path = path
		if asks {
			got.Path += "?" + query
		}
	}
	got.Headers = received(f.Headers, http2)
	delete(got.Headers, route.TagsHeader)
	if upgradeOf(f.Headers) == webSocket {
		for _, name := range []string{"connection", "upgrade"} {
			got.Headers[name] = f.Headers[name]
		}
		if http2 { // where it went as CONNECT (RFC 8441)
			got.Headers["connection"], got.Method = "upgrade", http.MethodGet
		}
	}
	return &got
}

func (f *Forwarded) same(o *Forwarded) bool {
	return f.Method == o.Method && f.Path == o.Path && maps.Equal(f.Headers, o.Headers)
}
