package requests_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// named is a line of a request with an id.
func named(id, table string, status uint32) *accesslogv3.HTTPAccessLogEntry {
	one := line("s1", "via_upstream", status, nil, time.Now())
	one.CommonProperties.CustomTags[bootstrap.TableTag] = table
	one.CommonProperties.UpstreamCluster = table
	one.Request.RequestId, one.Request.RequestMethod = id, corev3.RequestMethod_GET
	return one
}

func ask(t *testing.T, l *requests.Log, q attach.RequestsQuestion, at time.Time) attach.SeenRequests {
	t.Helper()
	s, err := l.Recent.Answer(q, at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPrivacy: of a request nothing is kept that docs/traffic.md does not list, and of a failed one the
// path is told to those alone who may have it.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	var l requests.Log
	one := named("id-1", "web", 503)
	one.Request.Path, one.Request.UserAgent, one.Request.Referer, one.Request.ForwardedFor = "/open?canary=canary#canary", "curl/8 (canary)", "http://canary/", "canary"
	one.Request.RequestHeaders = map[string]string{"authorization": "canary", "cookie": "canary", "x-api-key": "canary"}
	one.Response.ResponseHeaders = map[string]string{"set-cookie": "canary"}
	one.Request.Authority = "web"
	one.CommonProperties.DownstreamRemoteAddress = address("203.0.113.77")
	one.CommonProperties.UpstreamRemoteAddress = address("10.1.2.3")
	l.Line(bootstrap.ErrorsLog, one)
	for _, paths := range []bool{false, true} {
		answer := ask(t, &l, attach.RequestsQuestion{Paths: paths}, time.Now())
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "canary") || strings.Contains(string(text), "203.0.113.77") || strings.Contains(string(text), "/open") != paths {
			t.Errorf("with paths %v: %s", paths, text)
		}
		r := answer.Requests[0]
		if r.ID != "id-1" || r.Method != "GET" || r.Status != 503 || r.Client != "203.0.113.0/24" || r.Host != "10.1.2.3:80" || r.UserAgent != "curl/8" || r.Slot != 1 || r.Table != "web" {
			t.Errorf("%+v", r)
		}
	}
	one.Request.OriginalPath = "/before?canary"
	l.Line(bootstrap.ErrorsLog, one)
	if got := ask(t, &l, attach.RequestsQuestion{Paths: true, Since: 1}, time.Now()).Requests; len(got) != 1 || got[0].Path != "/before" {
		t.Errorf("a path that the route has changed: %+v", got)
	}
}

func address(ip string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: ip, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80}}}}
}

// TestFailedAreKept: the last ones that failed are kept, in their order, each with its attempts; what came
// since is told to who asks so.
func TestFailedAreKept(t *testing.T) {
	t.Parallel()
	var l requests.Log
	for i := range 300 {
		l.Line(bootstrap.ErrorsLog, named(fmt.Sprint(i), "web", 503))
	}
	for _, a := range []struct {
		id, cluster string
		status      uint32
	}{{"299", "web", 502}, {"299", "inbound", 501}, {"298", "web", 504}} {
		line := named(a.id, "", a.status) // which says no virtual host
		line.CommonProperties.UpstreamCluster = a.cluster
		l.Line(bootstrap.AttemptsLog, line)
	}
	all := ask(t, &l, attach.RequestsQuestion{}, time.Now())
	if len(all.Requests) != 256 || all.Requests[0].ID != "44" || all.Requests[255].ID != "299" || all.Kept.IsZero() {
		t.Fatalf("%d are kept", len(all.Requests))
	}
	if a := all.Requests[255].Attempts; len(a) != 1 || a[0].Status != 502 {
		t.Errorf("attempts of the last one: %+v", a)
	}
	l.Line(bootstrap.ErrorsLog, named("300", "api", 500))
	if got := ask(t, &l, attach.RequestsQuestion{Since: all.Next}, time.Now()).Requests; len(got) != 1 || got[0].ID != "300" {
		t.Errorf("since the answer before: %+v", got)
	}
	if got := ask(t, &l, attach.RequestsQuestion{Tables: []string{"api"}}, time.Now()).Requests; len(got) != 1 {
		t.Errorf("of one table: %+v", got)
	}
}

// TestTaps: who watches is told of each request once that is asked for, and of so many in a second; nobody
// who is gone holds anything up.
func TestTaps(t *testing.T) {
	t.Parallel()
	var l requests.Log
	now := time.Now()
	tap := func(name string) attach.RequestsQuestion {
		return attach.RequestsQuestion{Tap: name, Tables: []string{"web"}}
	}
	l.Line(bootstrap.TapLog, named("before", "web", 200))
	if l.Recent.Tapping(now) || len(ask(t, &l, tap("a"), now).Requests) != 0 || !l.Recent.Tapping(now) {
		t.Fatal("a tap begins with the first question")
	}
	l.Line(bootstrap.TapLog, named("1", "web", 200))
	l.Line(bootstrap.TapLog, named("2", "api", 200))
	if got := ask(t, &l, tap("a"), now).Requests; len(got) != 1 || got[0].ID != "1" {
		t.Errorf("%+v", got)
	}
	if got := ask(t, &l, tap("a"), now).Requests; len(got) != 0 {
		t.Errorf("told twice: %+v", got)
	}
	for range 1000 {
		l.Line(bootstrap.TapLog, named("3", "web", 200))
	}
	if got := ask(t, &l, tap("a"), now); len(got.Requests)+int(got.Dropped) != 1000 || len(got.Requests) < attach.TapPerSecond-1 || len(got.Requests) > 2*attach.TapPerSecond {
		t.Errorf("%d told, %d dropped", len(got.Requests), got.Dropped)
	}
	for i := range attach.MostTaps - 1 {
		ask(t, &l, tap(fmt.Sprint(i)), now)
	}
	if _, err := l.Recent.Answer(tap("more"), now); err == nil {
		t.Error("there is a tap too many")
	}
	end := tap("0")
	end.End = true
	ask(t, &l, end, now)
	ask(t, &l, tap("more"), now)
	if late := now.Add(attach.TapLease + time.Second); l.Recent.Tapping(late) {
		t.Error("a tap that nobody asked for goes on")
	}
	end.Tap = "never"
	if ask(t, &l, end, now); l.Recent.Tapping(now) {
		t.Error("the end of a tap begins one")
	}
}
