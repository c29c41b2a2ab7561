package sim

import (
	"net/http"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// SocketInHTTP2 is what a verdict on a WebSocket does not know where workloads are asked
// for it in HTTP/2.
const SocketInHTTP2 = "answers: some workloads are asked for the WebSocket in HTTP/2 (RFC 8441), which few servers understand"

// arrive makes of the request that the caller's sidecar sends the one that the
// workloads get: their own sidecars read it anew, as that of the caller did.
func (b *Branch) arrive(c *wire.Call) {
	for i := range b.Backends {
		x := &b.Backends[i]
		if x.Status != 0 || x.Share == 0 {
			continue
		}
		sent := b.sentTo(i)
		answers := sent.Over(x.http2).Refusals(c, x.http2)
		if len(answers) > 1 && slices.ContainsFunc(x.Inbounds, Inbound.reads) {
			b.unknown = append(b.unknown, wire.UnknownFraming)
			answers = []uint32{0}
		}
		forms := x.forms(sent, answers[0])
		if len(forms) > 1 {
			b.unknown = append(b.unknown, "forwarded: the dataplanes of "+x.Name+" get it in different forms, for their sidecars read different protocols")
			continue
		}
		if wire.UpgradeOf(sent.Headers) == wire.WebSocket && slices.ContainsFunc(forms, func(f *wire.Forwarded) bool { return f.Method == http.MethodConnect }) {
			b.unknown = append(b.unknown, SocketInHTTP2)
		}
		if len(forms) == 1 && !forms[0].Same(sent) {
			b.send(i, forms[0])
		}
	}
}

// forms are what sent becomes at the workloads of x, each once: none of those whose sidecars
// do not take it, but answer.
func (x *Backend) forms(sent *wire.Forwarded, answer uint32) []*wire.Forwarded {
	var out []*wire.Forwarded
	add := func(f *wire.Forwarded) {
		if !slices.ContainsFunc(out, f.Same) {
			out = append(out, f)
		}
	}
	if len(x.Inbounds) == 0 {
		add(sent.Over(x.http2))
	}
	read, normal := sent.Reread(x.http2)
	for k := range x.Inbounds {
		in := &x.Inbounds[k]
		in.grpc, in.webSocket = read.Headers.GRPC(), wire.UpgradeOf(sent.Headers) == wire.WebSocket
		switch {
		case !in.reads():
			if in.judge(nil); in.denied() {
				in.keepOut(true)
				continue
			}
			add(sent.Over(x.http2))
		case answer != 0:
			in.unread = &timeline.Answer{Status: answer, Reset: x.http2}
			in.ends(*in.unread)
		case !normal:
			in.unread = &timeline.Answer{Status: http.StatusBadRequest}
			in.ends(*in.unread)
		case in.stops(read):
		default:
			add(in.spelled(read).Over(in.Protocol == api.HTTP2 || in.Protocol == api.GRPC))
		}
	}
	return out
}

// sentTo is the request that backend n gets.
func (b *Branch) sentTo(n int) *wire.Forwarded {
	if own := b.Backends[n].Forwarded; own != nil {
		return own
	}
	return b.Forwarded
}

// send gives backend n a request of its own.
func (b *Branch) send(n int, f *wire.Forwarded) {
	if len(b.Backends) == 1 {
		b.Forwarded = f
	} else {
		b.Backends[n].Forwarded = f
	}
}
