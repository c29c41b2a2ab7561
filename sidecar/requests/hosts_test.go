package requests_test

import (
	"fmt"
	"net/netip"
	"testing"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"

	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// TestHosts: attempts are added up by address and by how they ended; one that nobody was asked in, or that its client
// gave up, says nothing of an address; and of so many addresses as somebody may make up few are kept.
func TestHosts(t *testing.T) {
	t.Parallel()
	var l requests.Log
	attempt := func(host string, status uint32, flags *accesslogv3.ResponseFlags) {
		one := named("id", "web", status)
		one.CommonProperties.UpstreamCluster = "web"
		one.CommonProperties.ResponseFlags = flags
		if host != "" {
			one.CommonProperties.UpstreamRemoteAddress = address(host)
		}
		l.Line(bootstrap.AttemptsLog, one)
	}
	const web = "10.0.0.1"
	attempt(web, 503, nil)
	attempt(web, 500, &accesslogv3.ResponseFlags{UpstreamRetryLimitExceeded: true})
	attempt(web, 403, nil)
	attempt(web, 503, &accesslogv3.ResponseFlags{UpstreamConnectionFailure: true})
	attempt(web, 503, &accesslogv3.ResponseFlags{UpstreamConnectionTermination: true})
	attempt(web, 503, &accesslogv3.ResponseFlags{UpstreamRemoteReset: true})
	attempt("::ffff:"+web, 504, &accesslogv3.ResponseFlags{UpstreamRequestTimeout: true})
	late := named("late", "web", 504)
	late.CommonProperties.UpstreamCluster, late.CommonProperties.UpstreamRemoteAddress = "web", address(web)
	late.CommonProperties.ResponseFlags, late.Response.ResponseCodeDetails = &accesslogv3.ResponseFlags{UpstreamRequestTimeout: true}, "response_timeout"
	l.Line(bootstrap.ErrorsLog, late)
	attempt(web, 0, &accesslogv3.ResponseFlags{DownstreamConnectionTermination: true})
	attempt(web, 503, &accesslogv3.ResponseFlags{UpstreamOverflow: true})
	attempt("", 503, nil)
	l.Line(bootstrap.ErrorsLog, named("id", "web", 503)) // of the request, whose attempts have lines
	got := l.TakeHosts()
	key := requests.HostKey{Cluster: "web", Host: netip.MustParseAddrPort(web + ":80")}
	if tally := got[key]; len(got) != 1 || tally == nil || *tally != (requests.HostTally{Refused: 1, Closed: 2, Timeouts: 2, Errors: 2, Lines: 7}) || tally.All() != 7 {
		t.Errorf("%v: %+v", got, got[key])
	}
	for i := range 1000 {
		attempt(fmt.Sprintf("10.0.%d.%d", i/250, i%250), 503, nil)
	}
	if n := len(l.TakeHosts()); n != 64 {
		t.Errorf("%d addresses are kept", n)
	}
	if len(l.TakeHosts()) != 0 {
		t.Error("they are told twice")
	}
}
