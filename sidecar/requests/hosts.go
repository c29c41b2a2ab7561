package requests

import (
	"net/netip"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
)

// mostHosts bounds those of which is known that attempts failed there, between two looks. Others are left out: an
// endpoint that is worse than its siblings is among the first that fail.
const mostHosts = 64

// HostKey is an address at which attempts to reach a cluster failed. A line of an attempt says neither the table nor
// the details of the answer.
type HostKey struct {
	Cluster string
	Host    netip.AddrPort
}

// HostTally is how attempts failed at one address: no connection came about; the connection or the stream was closed;
// no answer came in time; the answer was a 5xx. Numbers are of attempts: a line of a sample stands for many.
type HostTally struct {
	Refused, Closed, Timeouts, Errors float64
	Lines                             uint32
}

// All are the attempts that failed.
func (t *HostTally) All() float64 { return t.Refused + t.Closed + t.Timeouts + t.Errors }

// TakeHosts is where attempts failed since TakeHosts was called before.
func (l *Log) TakeHosts() map[HostKey]*HostTally {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.hosts
	l.hosts = nil
	return out
}

// attempt adds an attempt that failed at an address, whose line, or that of its request, stands for so many.
func (l *Log) attempt(line *accesslogv3.HTTPAccessLogEntry, weight float64) {
	c := line.GetCommonProperties()
	host, err := netip.ParseAddrPort(addressOf(c.GetUpstreamRemoteAddress()))
	if cluster := c.GetUpstreamCluster(); err != nil || cluster == "" || len(cluster) > mostName {
		return
	}
	var one HostTally
	switch f := c.GetResponseFlags(); {
	case f.GetUpstreamConnectionFailure():
		one.Refused = weight
	case f.GetUpstreamConnectionTermination(), f.GetUpstreamRemoteReset(), f.GetUpstreamProtocolError():
		one.Closed = weight
	case f.GetUpstreamRequestTimeout():
		one.Timeouts = weight
	case line.GetResponse().GetResponseCode().GetValue() >= 500 && (flagsOf(f) == "" || flagsOf(f) == "URX"):
		one.Errors = weight
	default:
		return // the client went away, or the sidecar did not ask
	}
	key := HostKey{c.GetUpstreamCluster(), netip.AddrPortFrom(host.Addr().Unmap().WithZone(""), host.Port())}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.hosts[key]
	if t == nil {
		if len(l.hosts) >= mostHosts {
			return
		}
		if l.hosts == nil {
			l.hosts = map[HostKey]*HostTally{}
		}
		t = &HostTally{}
		l.hosts[key] = t
	}
	t.Refused, t.Closed, t.Timeouts, t.Errors, t.Lines = t.Refused+one.Refused, t.Closed+one.Closed, t.Timeouts+one.Timeouts, t.Errors+one.Errors, t.Lines+1
}
