package sim

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// SocketInHTTP2 is what a verdict on a WebSocket does not know where workloads are asked
// for it in HTTP/2.
const SocketInHTTP2 = "answers: some workloads are asked for the WebSocket in HTTP/2 (RFC 8441), which few servers understand"

// arrive makes of the request that the caller's sidecar sends the one that the
// workloads get: their own sidecars read it anew, as that of the caller did.
func (b *Branch) arrive(c *call) {
	for i := range b.Backends {
		x := &b.Backends[i]
		if x.Status != 0 || x.Share == 0 {
			continue
		}
		sent := b.sentTo(i)
		answers := sent.over(x.http2).refusals(c, x.http2)
		if len(answers) > 1 && slices.ContainsFunc(x.Inbounds, Inbound.reads) {
			b.unknown = append(b.unknown, unframed)
			answers = []uint32{0}
		}
		forms := x.forms(sent, answers[0])
		if len(forms) > 1 {
			b.unknown = append(b.unknown, "forwarded: the dataplanes of "+x.Name+" get it in different forms, for their sidecars read different protocols")
			continue
		}
		if upgradeOf(sent.Headers) == webSocket && slices.ContainsFunc(forms, func(f *Forwarded) bool { return f.Method == http.MethodConnect }) {
			b.unknown = append(b.unknown, SocketInHTTP2)
		}
		if len(forms) == 1 && !forms[0].same(sent) {
			b.send(i, forms[0])
		}
	}
}

// forms are what sent becomes at the workloads of x, each once: none of those whose sidecars
// do not take it, but answer.
func (x *Backend) forms(sent *Forwarded, answer uint32) []*Forwarded {
	var out []*Forwarded
	add := func(f *Forwarded) {
		if !slices.ContainsFunc(out, f.same) {
			out = append(out, f)
		}
	}
	if len(x.Inbounds) == 0 {
		add(sent.over(x.http2))
	}
	read, normal := sent.reread(x.http2)
	for k := range x.Inbounds {
		in := &x.Inbounds[k]
		in.grpc, in.webSocket = read.Headers.grpc(), upgradeOf(sent.Headers) == webSocket
		switch {
		case !in.reads():
			if in.judge(nil); in.denied() {
				in.keepOut(true)
				continue
			}
			add(sent.over(x.http2))
		case answer != 0:
			in.unread = &Answer{Status: answer, Reset: x.http2}
			in.ends(*in.unread)
		case !normal:
			in.unread = &Answer{Status: http.StatusBadRequest}
			in.ends(*in.unread)
		case in.stops(read):
		default:
			add(in.spelled(read).over(in.Protocol == api.HTTP2 || in.Protocol == api.GRPC))
		}
	}
	return out
}

// stops reports whether the sidecar of in answers read because of who asks.
func (in *Inbound) stops(read *Forwarded) bool {
	if status := in.judge(read); status != 0 {
		in.responds(status)
		in.Reason = misspelled
		return true
	}
	if in.denied() {
		in.keepOut(true)
		return true
	}
	return false
}

// reads reports whether the sidecar of in tells requests apart.
func (in Inbound) reads() bool { return in.Protocol.HTTPLike() }

// over is f in the version of HTTP in which it goes on. A WebSocket goes over HTTP/2 as
// CONNECT (RFC 8441).
func (f *Forwarded) over(http2 bool) *Forwarded {
	if !http2 || upgradeOf(f.Headers) != webSocket {
		return f
	}
	out := f.clone()
	out.Method = http.MethodConnect
	for _, h := range []Headers{out.Headers, out.wire.Headers} {
		h[":protocol"] = h["upgrade"]
		delete(h, "upgrade")
		delete(h, "connection")
	}
	return out
}

// bodiless are the methods for which Envoy writes no length where there is no body.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodTrace, http.MethodConnect}

// refusals are what a sidecar may answer to f as it reads it.
func (f *Forwarded) refusals(c *call, http2 bool) []uint32 {
	by := c.framings
	if !http2 && by[0] == (framing{}) && !slices.Contains(bodiless, f.Method) && c.upgrade != webSocket {
		by = []framing{{length: "0"}}
	}
	return head{f.Method, f.Authority, f.Path, f.wire.Headers, http2, false}.refusals(by)
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

// reread is f after a sidecar in front of a workload has read it; ok is false where it
// refuses the path.
func (f *Forwarded) reread(http2 bool) (got *Forwarded, ok bool) {
	got = f.clone()
	path, query, asks := strings.Cut(f.Path, "?")
	if path, ok = normalize(path); ok {
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
	return got, ok || f.Method == http.MethodConnect
}

func (f *Forwarded) same(o *Forwarded) bool {
	return f.Method == o.Method && f.Path == o.Path && maps.Equal(f.Headers, o.Headers)
}
