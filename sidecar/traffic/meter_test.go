package traffic_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/sidecar/traffic"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// fake is an Envoy that counts what a test says.
type fake struct {
	counts   map[string]uint64 // TABLE.route.sN.STAT
	times    map[string]string // TABLE.route.sN, buckets
	written  uint64
	received uint64
	life     any
	log      requests.Log
	down     bool
}

func (f *fake) source() traffic.MeterSource {
	return traffic.MeterSource{Life: func() any { return f.life }, Received: func() uint64 { return f.received }, Log: &f.log, Get: f.get}
}

func (f *fake) get(_ context.Context, path string) (io.ReadCloser, error) {
	if f.down {
		return nil, io.ErrUnexpectedEOF
	}
	var b strings.Builder
	if strings.Contains(path, "Histograms") {
		for name, times := range f.times {
			fmt.Fprintf(&b, "vhost.%s.upstream_rq_time:\n  totals=%s\n  intervals=\n  summary=P0(nan,1)\n", name, times)
		}
		return io.NopCloser(strings.NewReader(b.String())), nil
	}
	fmt.Fprintf(&b, "access_logs.grpc_access_log.logs_written: %d\n", f.written)
	for name, n := range f.counts {
		fmt.Fprintf(&b, "vhost.%s: %d\n", name, n)
	}
	return io.NopCloser(strings.NewReader(b.String())), nil
}

// line has Envoy write one of a request that it ended by itself.
func (f *fake) line(table, slot, details string, status uint32, flags *accesslogv3.ResponseFlags, took time.Duration) {
	f.written++
	f.received++
	f.log.Line(bootstrap.ErrorsLog, &accesslogv3.HTTPAccessLogEntry{
		CommonProperties: &accesslogv3.AccessLogCommon{ResponseFlags: flags, StartTime: timestamppb.New(time.Now().Add(-took)), Duration: durationpb.New(took),
			CustomTags: map[string]string{bootstrap.TableTag: table, bootstrap.SlotTag: slot}},
		Response: &accesslogv3.HTTPResponseProperties{ResponseCode: wrapperspb.UInt32(status), ResponseCodeDetails: details},
	})
}

// attempt has Envoy write a line of an attempt that was answered with 503 at an address.
func (f *fake) attempt(cluster, host string, port uint32) {
	f.log.Line(bootstrap.AttemptsLog, &accesslogv3.HTTPAccessLogEntry{
		CommonProperties: &accesslogv3.AccessLogCommon{StartTime: timestamppb.Now(), UpstreamCluster: cluster,
			UpstreamRemoteAddress: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}}},
		Response: &accesslogv3.HTTPResponseProperties{ResponseCode: wrapperspb.UInt32(503)},
	})
}

func next(t testing.TB, m *traffic.Meter) *attach.Traffic {
	t.Helper()
	got, err := m.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if size := proto.Size(got); size > 1024 {
		t.Fatalf("a message has %d bytes", size)
	}
	return got
}

func tables(t testing.TB, m *traffic.Meter, want ...*attach.Table) {
	t.Helper()
	got := next(t, m)
	if got == nil {
		t.Fatal("there is no message")
	}
	if diff := cmp.Diff(want, got.GetTables(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// TestDifferences: the first reading tells nothing, each later one what came since, also of an Envoy that
// began again, and a table's name comes once.
func TestDifferences(t *testing.T) {
	t.Parallel()
	f := &fake{life: 1, counts: map[string]uint64{"a.ns:80.route.s7.upstream_rq_completed": 5}}
	m := traffic.New(f.source())
	if got := next(t, m); got != nil {
		t.Fatalf("the baseline tells %v", got)
	}
	if got := next(t, m); got == nil || len(got.GetTables()) > 0 || got.GetNames() != 1 {
		t.Fatalf("a quiet interval tells %v", got)
	}
	f.counts = map[string]uint64{"a.ns:80.route.s7.upstream_rq_completed": 9, "a.ns:80.route.s7.upstream_rq_5xx": 1, "a.ns:80.route.s7.upstream_rq_403": 1,
		"a.ns:80.route.s7.upstream_rq_429": 1, "a.ns:80.route.s7.upstream_rq_retry": 2, "a.ns:80.route.s8.upstream_rq_completed": 1}
	f.times = map[string]string{"a.ns:80.route.s7": "0,0:1, 5,0.1:1, 10,1:1, 100,10:1, 1000,100:4"}
	tables(t, m, &attach.Table{Number: 1, Name: "a.ns:80", Slots: []*attach.Slot{
		{Slot: 7, Completed: 4, Failed: 1, Denied: 2, Retried: 2, Durations: []uint32{2, 1, 0, 0, 0, 1, 0, 4}}, {Slot: 8, Completed: 1}}})
	f.life, f.counts, f.times = 2, map[string]uint64{"a.ns:80.route.s7.upstream_rq_completed": 30}, nil
	tables(t, m, &attach.Table{Number: 1, Slots: []*attach.Slot{{Slot: 7, Completed: 30}}})
	f.down = true
	if got, err := m.Next(t.Context()); err == nil {
		t.Fatalf("an Envoy that does not answer tells %v", got)
	}
	f.down, f.counts = false, map[string]uint64{"a.ns:80.route.s7.upstream_rq_completed": 31}
	tables(t, m, &attach.Table{Number: 1, Slots: []*attach.Slot{{Slot: 7, Completed: 1}}})
	f.life, f.counts = 3, map[string]uint64{"a.ns:80.route.s7.upstream_rq_completed": 3}
	tables(t, m, &attach.Table{Number: 1, Slots: []*attach.Slot{{Slot: 7, Completed: 3}}})
}

// TestEnvoyAfterTheStream: what an Envoy counts that comes up later is of the stream.
func TestEnvoyAfterTheStream(t *testing.T) {
	t.Parallel()
	f := &fake{}
	m := traffic.New(f.source())
	if got := next(t, m); got != nil {
		t.Fatalf("without an Envoy there is %v", got)
	}
	f.life, f.counts = 1, map[string]uint64{"a.route.s1.upstream_rq_completed": 2}
	tables(t, m, &attach.Table{Number: 1, Name: "a", Slots: []*attach.Slot{{Slot: 1, Completed: 2}}})
}

// TestLocalReplies: requests that no counter has are added by their lines, by cause, and with their durations;
// of those that a counter has only the causes and the durations.
func TestLocalReplies(t *testing.T) {
	t.Parallel()
	f := &fake{life: 1}
	m := traffic.New(f.source())
	next(t, m)
	f.counts = map[string]uint64{"a.route.s1.upstream_rq_completed": 2, "a.route.s1.upstream_rq_5xx": 2, "a.route.s1.upstream_rq_timeout": 1}
	f.line("a", "s1", "response_timeout", 504, &accesslogv3.ResponseFlags{UpstreamRequestTimeout: true}, 200*time.Millisecond)
	f.line("a", "s1", "via_upstream", 500, nil, time.Millisecond)
	for range 3 {
		f.line("a", "s1", "local_rate_limited", 429, &accesslogv3.ResponseFlags{RateLimited: true}, 0)
	}
	f.line("a", "s1", "rbac_access_denied_matched_policy[secret-name]", 403, nil, 0)
	f.line("a", "-", "direct_response", 500, nil, 0)
	f.line("-", "-", "route_not_found", 404, &accesslogv3.ResponseFlags{NoRouteFound: true}, 0)
	tables(t, m, &attach.Table{Number: 1, Name: "a",
		Slots: []*attach.Slot{{Slot: 1, Completed: 6, Failed: 2, Denied: 4, Timeouts: 1, Durations: []uint32{4, 0, 0, 0, 0, 1}, Causes: []*attach.Cause{
			{Flags: "RL", Details: "local_rate_limited", Status: 429, Count: 3}, {Details: "rbac_access_denied_matched_policy", Status: 403, Count: 1},
			{Flags: "UT", Details: "response_timeout", Status: 504, Count: 1}}}},
		Others: &attach.Slot{Completed: 1, Failed: 1, Durations: []uint32{1}, Causes: []*attach.Cause{{Details: "direct_response", Status: 500, Count: 1}}}})
}

// TestLastAttemptsAreCounted: of requests that were answered, but no more tried, there is a counter: where lines are
// of a sample, it says how many there were, and not how many lines happened to be among those.
func TestLastAttemptsAreCounted(t *testing.T) {
	t.Parallel()
	f := &fake{life: 1, counts: map[string]uint64{}}
	m := traffic.New(f.source())
	next(t, m)
	look := func() {
		if err := f.log.Sampler.Look(t.Context(), 1, func(context.Context, uint32) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	look()
	look()
	answer := func(lines int, flags *accesslogv3.ResponseFlags) {
		for range lines {
			f.line("a", "s1", "via_upstream", 409, flags, 0)
		}
	}
	answer(1000, &accesslogv3.ResponseFlags{UpstreamOverflow: true})
	f.counts["a.route.s1.upstream_rq_retry_overflow"] = 1000
	tables(t, m, &attach.Table{Number: 1, Name: "a", Slots: []*attach.Slot{{Slot: 1, Causes: []*attach.Cause{{Flags: "UO", Details: "via_upstream", Status: 409, Count: 1000}}}}})
	look() // one of 50 from here on
	time.Sleep(200 * time.Millisecond)
	answer(7, &accesslogv3.ResponseFlags{UpstreamOverflow: true})
	answer(3, &accesslogv3.ResponseFlags{UpstreamRetryLimitExceeded: true})
	f.line("a", "s1", "direct_response", 409, nil, 0)
	f.counts["a.route.s1.upstream_rq_retry_overflow"] += 500
	f.counts["a.route.s1.upstream_rq_retry_limit_exceeded"] = 100
	tables(t, m, &attach.Table{Number: 1, Slots: []*attach.Slot{{Slot: 1, Completed: 50, Durations: []uint32{50}, Causes: []*attach.Cause{
		{Flags: "UO", Details: "via_upstream", Status: 409, Count: 500, Sampled: true},
		{Flags: "URX", Details: "via_upstream", Status: 409, Count: 100, Sampled: true},
		{Details: "direct_response", Status: 409, Count: 50, Sampled: true}}}}})
}

// TestLoss: lines that were written and did not come are told, and none that came beside them.
func TestLoss(t *testing.T) {
	t.Parallel()
	f := &fake{life: 1, written: 10, received: 7} // three are on their way
	m := traffic.New(f.source())
	next(t, m)
	f.received += 3
	if got := next(t, m); got.GetWritten() != 0 || got.GetReceived() != 0 {
		t.Errorf("lines of before count: %v", got)
	}
	f.written += 100
	f.received += 60
	if got := next(t, m); got.GetWritten() != 100 || got.GetReceived() != 60 {
		t.Errorf("40 of 100 were lost: %v", got)
	}
	f.life, f.written = 2, 5
	f.received += 5
	if got := next(t, m); got.GetWritten() != 5 || got.GetReceived() != 5 {
		t.Errorf("an Envoy began again: %v", got)
	}
}

// TestNothingIsLostOrTwice is that whatever there is to tell, messages have a kilobyte at most, and their
// sums are what was counted.
func TestNothingIsLostOrTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := &fake{life: 0, counts: map[string]uint64{}}
		m := traffic.New(f.source())
		next(t, m)
		number := rapid.IntRange(1, 120).Draw(rt, "tables")
		width := rapid.IntRange(1, 60).Draw(rt, "length of names")
		want, got := uint64(0), uint64(0)
		sum := func() int {
			told := next(t, m)
			for _, table := range told.GetTables() {
				for _, s := range append(table.GetSlots(), table.GetOthers()) {
					got += uint64(s.GetCompleted())
				}
			}
			return len(told.GetTables())
		}
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			if rapid.IntRange(0, 3).Draw(rt, "begins again") == 0 {
				f.life, f.counts = f.life.(int)+1, map[string]uint64{}
			}
			for range rapid.IntRange(0, 200).Draw(rt, "routes") {
				table := fmt.Sprintf("%0*d", width, rapid.IntRange(1, number).Draw(rt, "table"))
				slot := rapid.IntRange(0, 511).Draw(rt, "slot")
				n := rapid.Uint64Range(1, 100_000).Draw(rt, "requests")
				want += n
				f.counts[fmt.Sprintf("%s.route.s%d.upstream_rq_completed", table, slot)] += n
				if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
					f.counts[fmt.Sprintf("%s.route.s%d.upstream_rq_5xx", table, slot)]++
					f.attempt(table, fmt.Sprint("10.0.0.", slot%256), 80)
				}
			}
			sum()
		}
		for n := 0; sum() > 0; n++ {
			if n > 100 {
				rt.Fatal("it is never all told")
			}
		}
		if got != want {
			rt.Fatalf("%d requests are told of %d", got, want)
		}
	})
}

// TestMemory: the agent keeps half a megabyte, however many routes there are, and whatever fails.
func TestMemory(t *testing.T) {
	f := &fake{life: 1, counts: map[string]uint64{}, times: map[string]string{}}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for i := range 20_000 {
		name := fmt.Sprintf("service-%d.namespace:8080.route.s%d", i/5, i%5)
		f.counts[name+".upstream_rq_completed"], f.counts[name+".upstream_rq_5xx"] = uint64(i), 1
		f.times[name] = "0,0:11, 1,0.1:200"
	}
	before := heap()
	m := traffic.New(f.source())
	next(t, m)
	for round := range 3 {
		for i := range 20_000 {
			f.counts[fmt.Sprintf("service-%d.namespace:8080.route.s%d.upstream_rq_completed", i/5, i%5)] += uint64(round)
			f.line(fmt.Sprintf("service-%d.namespace:8080", i/5), fmt.Sprint("s", i%5), fmt.Sprint("word_", i), 500, nil, 0)
		}
		next(t, m)
	}
	for i := range 20_000 {
		f.line(fmt.Sprintf("service-%d.namespace:8080", i/5), fmt.Sprint("s", i%5), fmt.Sprint("word_", i), 500, nil, 0)
	}
	if kept := int64(heap()) - int64(before); kept > 700_000 {
		t.Errorf("%d bytes are kept", kept)
	} else {
		t.Logf("%d bytes are kept", kept)
	}
	runtime.KeepAlive(m)
}

// BenchmarkThousandRoutes is what the agent spends on an interval with 1,000 used routes.
func BenchmarkThousandRoutes(b *testing.B) {
	f := &fake{life: 1, counts: map[string]uint64{}, times: map[string]string{}}
	for i := range 1000 {
		name := fmt.Sprintf("service-%d.namespace:8080.route.s%d", i%20, i/20)
		for _, stat := range []string{"completed", "5xx", "429", "retry", "timeout"} {
			f.counts[name+".upstream_rq_"+stat] = uint64(1000 + i)
		}
		f.times[name] = "0,0:11, 1,0.1:200, 2,0.1:300, 7,0.1:100, 12,1:50, 55,1:17, 110,10:3, 1200,100:2"
	}
	counters, _ := f.get(b.Context(), "")
	times, _ := f.get(b.Context(), "Histograms")
	c, _ := io.ReadAll(counters)
	h, _ := io.ReadAll(times)
	s := f.source()
	s.Get = func(_ context.Context, path string) (io.ReadCloser, error) {
		if strings.Contains(path, "Histograms") {
			return io.NopCloser(strings.NewReader(string(h))), nil
		}
		return io.NopCloser(strings.NewReader(string(c))), nil
	}
	m := traffic.New(s)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
