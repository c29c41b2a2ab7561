package requests

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/headers"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// Bounds of what is kept of single requests (spec/telemetry.md L5).
const (
	mostFailed   = 256
	mostAttempts = 256
	mostTapped   = 400 // of a tap, until they are asked for
	longestPath  = 256
	longestHost  = 256
	longestID    = 64
	longestWord  = 64
	longestBy    = 2 << 10
)

// RecentRequests keeps single requests: the last ones that failed, and for each tap those that came since it was
// asked last.
type RecentRequests struct {
	mu       sync.Mutex
	number   uint64
	kept     time.Time // since when
	failures ring[kept]
	attempts ring[attempt]
	taps     map[string]*tap
}

// kept is a request, and the cluster to which it was sent: lines of attempts say no virtual host, and one sidecar may
// see a request twice, as it comes in and as its workload passes it on.
type kept struct {
	attach.SeenRequest
	cluster string
}

// attempt is one of a request that failed.
type attempt struct {
	id, cluster string
	attach.SeenAttempt
}

// tap is what somebody watches.
type tap struct {
	asks    attach.RequestsQuestion
	until   time.Time
	lines   []kept
	dropped uint64
	second  time.Time // the one that is counted
	inIt    int
}

// ring holds the last ones.
type ring[T any] struct {
	all  []T
	next int
}

func (r *ring[T]) add(most int, x T) {
	if len(r.all) < most {
		r.all = append(r.all, x)
		return
	}
	r.all[r.next] = x
	r.next = (r.next + 1) % most
}

// each yields all, the earliest first.
func (r *ring[T]) each(yield func(*T) bool) {
	for i := range r.all {
		if !yield(&r.all[(r.next+i)%len(r.all)]) {
			return
		}
	}
}

// failed keeps a request that failed, whose line stands for so many.
func (s *RecentRequests) failed(line *accesslogv3.HTTPAccessLogEntry, weight float64) {
	r := seenOf(line)
	r.StandsFor = weight
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	if s.kept.IsZero() {
		s.kept = time.Now()
	}
	r.Number = s.number
	s.failures.add(mostFailed, kept{r, clusterOf(line)})
}

// attempt keeps one that failed.
func (s *RecentRequests) attempt(line *accesslogv3.HTTPAccessLogEntry) {
	r := seenOf(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts.add(mostAttempts, attempt{r.ID, clusterOf(line), attach.SeenAttempt{TookMicros: r.TookMicros, Host: r.Host, Status: r.Status, Flags: r.Flags, Details: r.Details}})
}

// tapped gives a request to the taps that ask for it, and so many in a second.
func (s *RecentRequests) tapped(line *accesslogv3.HTTPAccessLogEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taps) == 0 {
		return
	}
	r, now := seenOf(line), time.Now()
	r.StandsFor = 1
	r.Headers, r.AnswerHeaders = headers.Of(line)
	s.number++
	r.Number = s.number
	for _, t := range s.taps {
		if t.asks.Wants(&r) {
			t.take(kept{r, clusterOf(line)}, now)
		}
	}
}

func (t *tap) take(r kept, now time.Time) {
	if now.Sub(t.second) >= time.Second {
		t.second, t.inIt = now, 0
	}
	if t.inIt++; t.inIt > attach.TapPerSecond || len(t.lines) == mostTapped {
		t.dropped++
		return
	}
	r.SeenRequest = r.Only(t.asks.Headers)
	t.lines = append(t.lines, r)
}

// Tapping reports whether somebody watches. Taps that nobody asked for are over.
func (s *RecentRequests) Tapping(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.taps {
		if now.After(t.until) {
			delete(s.taps, name)
		}
	}
	return len(s.taps) > 0
}

// Headers are those that taps ask for, as attach.HeaderNames has them.
func (s *RecentRequests) Headers() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.taps {
		out = append(out, t.asks.Headers...)
	}
	return attach.HeaderNames(out)
}

// Answer answers a question. The error says that there are as many taps as there may be.
func (s *RecentRequests) Answer(q attach.RequestsQuestion, now time.Time) (attach.SeenRequests, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := attach.SeenRequests{Requests: []attach.SeenRequest{}, Next: s.number, Kept: s.kept}
	if q.Tap == "" {
		for r := range s.failures.each {
			if r.Number > q.Since && q.Wants(&r.SeenRequest) {
				out.Requests = append(out.Requests, s.whole(*r, q.Paths))
			}
		}
		return out, nil
	}
	t := s.taps[q.Tap]
	switch {
	case q.End && t == nil:
		return out, nil
	case t == nil && len(s.taps) >= attach.MostTaps:
		return out, fmt.Errorf("%d taps watch this sidecar already, which is the most; end one of them, or wait %v after its end", len(s.taps), attach.TapLease)
	case t == nil:
		t = &tap{asks: q}
		if s.taps == nil {
			s.taps = map[string]*tap{}
		}
		s.taps[q.Tap] = t
	}
	t.until = now.Add(attach.TapLease)
	for _, r := range t.lines {
		out.Requests = append(out.Requests, s.whole(r, true))
	}
	out.Dropped = t.dropped
	t.lines, t.dropped = nil, 0
	if q.End {
		delete(s.taps, q.Tap)
	}
	return out, nil
}

// whole is a request with its attempts.
func (s *RecentRequests) whole(r kept, paths bool) attach.SeenRequest {
	if !paths {
		r.Path = ""
	}
	if r.ID == "" {
		return r.SeenRequest
	}
	for a := range s.attempts.each {
		if a.id == r.ID && a.cluster == r.cluster {
			r.Attempts = append(r.Attempts, a.SeenAttempt)
		}
	}
	return r.SeenRequest
}

// clusterOf is where a request, or an attempt, was sent.
func clusterOf(line *accesslogv3.HTTPAccessLogEntry) string {
	return attach.Printable(line.GetCommonProperties().GetUpstreamCluster(), mostName)
}

// seenOf is what is kept of a line. All text in it is somebody else's, and bounded.
func seenOf(line *accesslogv3.HTTPAccessLogEntry) attach.SeenRequest {
	c, q, a := line.GetCommonProperties(), line.GetRequest(), line.GetResponse()
	tags := c.GetCustomTags()
	at, ok := placeOf(tags)
	if !ok {
		at = SlotKey{Slot: NoSlot}
	}
	cause := causeOf(line)
	path, _, _ := strings.Cut(cmp.Or(q.GetOriginalPath(), q.GetPath()), "?") // as the client wrote it, before the route did
	path, _, _ = strings.Cut(path, "#")
	agent, _, _ := strings.Cut(strings.TrimSpace(q.GetUserAgent()), " ")
	out := attach.SeenRequest{
		ID: attach.Printable(q.GetRequestId(), longestID), Began: c.GetStartTime().AsTime(), TookMicros: durationOf(c).Microseconds(),
		Method: methodOf(q.GetRequestMethod()), Authority: attach.Printable(q.GetAuthority(), longestHost), Path: attach.Printable(path, longestPath),
		Protocol: protocolOf(line), UserAgent: attach.Printable(agent, longestWord),
		Status: cause.Status, Flags: cause.Flags, Details: cause.Details, Tries: c.GetUpstreamRequestAttemptCount(), Host: addressOf(c.GetUpstreamRemoteAddress()),
		Table: at.Table, Slot: at.Slot, Received: q.GetRequestBodyBytes(), Sent: a.GetResponseBodyBytes(),
	}
	if by := tags[bootstrap.OriginsTag]; len(by) <= longestBy {
		out.By = by
	}
	if names := c.GetTlsProperties().GetPeerCertificateProperties().GetSubjectAltName(); len(names) > 0 {
		out.Caller = attach.Printable(names[0].GetUri(), longestHost)
	} else {
		out.Client = networkOf(c.GetDownstreamRemoteAddress())
	}
	return out
}

// methodOf is empty for one that Envoy has no word for.
func methodOf(m corev3.RequestMethod) string {
	if m == corev3.RequestMethod_METHOD_UNSPECIFIED {
		return ""
	}
	return m.String()
}

func protocolOf(line *accesslogv3.HTTPAccessLogEntry) string {
	switch line.GetProtocolVersion() {
	case accesslogv3.HTTPAccessLogEntry_HTTP10:
		return "HTTP/1.0"
	case accesslogv3.HTTPAccessLogEntry_HTTP11:
		return "HTTP/1.1"
	case accesslogv3.HTTPAccessLogEntry_HTTP2:
		return "HTTP/2"
	case accesslogv3.HTTPAccessLogEntry_HTTP3:
		return "HTTP/3"
	}
	return ""
}

// addressOf is IP:PORT; empty for none.
func addressOf(a *corev3.Address) string {
	s := a.GetSocketAddress()
	ip, err := netip.ParseAddr(s.GetAddress())
	if err != nil {
		return ""
	}
	return netip.AddrPortFrom(ip, uint16(s.GetPortValue())).String()
}

// networkOf is the network of an address, /24 or /48: who exactly called, a line need not tell.
func networkOf(a *corev3.Address) string {
	ip, err := netip.ParseAddr(a.GetSocketAddress().GetAddress())
	if err != nil {
		return ""
	}
	ip = ip.Unmap()
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}
