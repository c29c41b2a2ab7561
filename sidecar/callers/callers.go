// Package callers knows who calls a workload without proving who he is: the ends of connections
// that Envoy writes of its inbounds (spec/identity.md 5), which package accesslog receives.
//
// It promises that what it keeps is bounded, however many call: of senders those who came last.
// It keeps nothing of a connection but where it came from, to which port, and when it ended.
package callers

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"

	"github.com/weftmesh/weft/sidecar/attach"
)

// AccessLog keeps who called in plain text.
type AccessLog struct {
	mu      sync.Mutex
	senders map[sender]*attach.Sender
	changes uint64
}

type sender struct {
	address string
	port    uint32
}

// New makes an empty one.
func New() *AccessLog { return &AccessLog{senders: map[sender]*attach.Sender{}} }

// Take takes one connection, unless it was one of mutual TLS.
func (l *AccessLog) Take(c *accesslogv3.AccessLogCommon) {
	if c.GetTlsProperties().GetTlsVersion() != accesslogv3.TLSProperties_VERSION_UNSPECIFIED {
		return
	}
	from := c.GetDownstreamDirectRemoteAddress().GetSocketAddress().GetAddress()
	if _, err := netip.ParseAddr(from); err != nil {
		return
	}
	ended := c.GetStartTime().AsTime().Add(c.GetTimeToLastDownstreamTxByte().AsDuration())
	if c.GetDuration() != nil {
		ended = c.GetStartTime().AsTime().Add(c.GetDuration().AsDuration())
	}
	l.note(from, c.GetDownstreamLocalAddress().GetSocketAddress().GetPortValue(), ended)
}

func (l *AccessLog) note(from string, port uint32, ended time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := sender{from, port}
	s := l.senders[key]
	if s == nil {
		if len(l.senders) >= attach.MostSenders {
			delete(l.senders, l.oldest())
		}
		s = &attach.Sender{Address: from, Port: port}
		l.senders[key] = s
	}
	s.Connections++
	s.Last = max(s.Last, ended.Unix())
	l.changes++
}

func (l *AccessLog) oldest() (out sender) {
	var last int64
	for key, s := range l.senders {
		if out == (sender{}) || s.GetLast() < last || s.GetLast() == last && key.address < out.address {
			out, last = key, s.GetLast()
		}
	}
	return out
}

// Senders are those who came last, the latest first, and how often there was something new.
func (l *AccessLog) Senders() (list []*attach.Sender, changes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.senders {
		list = append(list, &attach.Sender{Address: s.GetAddress(), Port: s.GetPort(), Connections: s.GetConnections(), Last: s.GetLast()})
	}
	slices.SortFunc(list, func(a, b *attach.Sender) int {
		return cmp.Or(cmp.Compare(b.GetLast(), a.GetLast()), cmp.Compare(a.GetAddress(), b.GetAddress()), cmp.Compare(a.GetPort(), b.GetPort()))
	})
	return list, l.changes
}
