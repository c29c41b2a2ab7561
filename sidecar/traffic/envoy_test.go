package traffic_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/traffic"
)

// total is the sum of messages: of each slot its numbers and its causes, as texts.
type total struct {
	names             map[uint32]string
	slots             map[string]*attach.Slot
	causes            map[string]map[string]uint32
	written, received uint64
}

func newTotal() *total {
	return &total{names: map[uint32]string{}, slots: map[string]*attach.Slot{}, causes: map[string]map[string]uint32{}}
}

func (o *total) add(t *testing.T, m *traffic.Meter) *attach.Traffic {
	t.Helper()
	told := next(t, m)
	o.written += told.GetWritten()
	o.received += told.GetReceived()
	for _, table := range told.GetTables() {
		if table.GetName() != "" {
			o.names[table.GetNumber()] = table.GetName()
		}
		for _, s := range table.GetSlots() {
			o.slot(fmt.Sprintf("%s s%d", o.names[table.GetNumber()], s.GetSlot()), s)
		}
		if table.GetOthers() != nil {
			o.slot(o.names[table.GetNumber()]+" others", table.GetOthers())
		}
	}
	return told
}

func (o *total) slot(name string, s *attach.Slot) {
	sum := o.slots[name]
	if sum == nil {
		sum = &attach.Slot{Durations: make([]uint32, 8)}
		o.slots[name], o.causes[name] = sum, map[string]uint32{}
	}
	sum.Completed += s.GetCompleted()
	sum.Failed += s.GetFailed()
	sum.Denied += s.GetDenied()
	sum.Retried += s.GetRetried()
	sum.Timeouts += s.GetTimeouts()
	for i, n := range s.GetDurations() {
		sum.Durations[i] += n
	}
	for _, c := range s.GetCauses() {
		o.causes[name][fmt.Sprintf("%s %s %d", c.GetFlags(), c.GetDetails(), c.GetStatus())] += c.GetCount()
	}
}

func text(s *attach.Slot) string {
	sum := uint32(0)
	for _, n := range s.GetDurations() {
		sum += n
	}
	return fmt.Sprintf("completed %d failed %d denied %d retried %d timeouts %d durations %d", s.GetCompleted(), s.GetFailed(), s.GetDenied(), s.GetRetried(), s.GetTimeouts(), sum)
}

// outcome is what n requests of a kind are to come out as.
type outcome struct {
	slot   string
	path   string
	script string
	n      int
	status int // 0: any
	counts string
	causes map[string]uint32
	line   []envoytest.Line
}

const reset = "upstream_reset_before_response_started"

var outcomes = []outcome{
	{slot: "s1", path: "/ok", n: 1500, status: 200, counts: "completed 1900 failed 100 denied 0 retried 0 timeouts 0 durations 1900", causes: map[string]uint32{}},
	{slot: "s1", path: "/ok", script: "404", n: 300, status: 404},
	{slot: "s1", path: "/ok", script: "500", n: 100, status: 500},
	{slot: "s2", path: "/uh", n: 120, status: 503, counts: "completed 120 failed 120 denied 0 retried 0 timeouts 0 durations 120", causes: map[string]uint32{"UH no_healthy_upstream 503": 120}},
	{slot: "s3", path: "/ut", script: "slow:3s", n: 60, status: 504, counts: "completed 60 failed 60 denied 0 retried 0 timeouts 60 durations 60", causes: map[string]uint32{"UT response_timeout 504": 60}},
	{slot: "s4", path: "/retry", script: "503,200", n: 200, status: 200, counts: "completed 200 failed 0 denied 0 retried 200 timeouts 0 durations 200", causes: map[string]uint32{}},
	{slot: "s5", path: "/rl", n: 240, counts: "completed 240 failed 0 denied 200 retried 0 timeouts 0 durations 240", causes: map[string]uint32{"RL local_rate_limited 429": 200}},
	{slot: "s6", path: "/rbac", n: 130, status: 403, counts: "completed 130 failed 0 denied 130 retried 0 timeouts 0 durations 130", causes: map[string]uint32{" rbac_access_denied_matched_policy[none] 403": 130}},
	{slot: "s7", path: "/direct", n: 70, status: 500, counts: "completed 70 failed 70 denied 0 retried 0 timeouts 0 durations 70", causes: map[string]uint32{" direct_response 500": 70}},
	{slot: "s8", path: "/reset", script: "reset", n: 40, status: 503, counts: "completed 40 failed 40 denied 0 retried 0 timeouts 0 durations 40", causes: map[string]uint32{"UC " + reset + "{connection_termination} 503": 40}},
	{slot: "s9", path: "/refused", n: 50, status: 503, counts: "completed 50 failed 50 denied 0 retried 0 timeouts 0 durations 50", causes: map[string]uint32{"UF " + reset + "{remote_connection_failure|Connection_refused} 503": 50}},
	{slot: "s10", path: "/fault", n: 80, status: 503, counts: "completed 80 failed 80 denied 0 retried 0 timeouts 0 durations 80", causes: map[string]uint32{"FI fault_filter_abort 503": 80}},
	{slot: "s11", path: "/nc", n: 30, status: 503, counts: "completed 30 failed 30 denied 0 retried 0 timeouts 0 durations 30", causes: map[string]uint32{"NC cluster_not_found 503": 30}},
	{slot: "s12", path: "/pertry", script: "slow:3s", n: 24, status: 504, counts: "completed 24 failed 24 denied 0 retried 24 timeouts 0 durations 24", causes: map[string]uint32{"URX,UT upstream_per_try_timeout 504": 24}},
	{slot: "s13", path: "/urx", script: "503", n: 60, status: 503, counts: "completed 60 failed 60 denied 0 retried 120 timeouts 0 durations 60", causes: map[string]uint32{"URX via_upstream 503": 60}},
	{slot: "s14", path: "/uo", n: 90, status: 503, counts: "completed 90 failed 90 denied 0 retried 0 timeouts 0 durations 90", causes: map[string]uint32{"UO " + reset + "{overflow} 503": 90}},
	{slot: "s16", path: "/si", script: "slow:3s", n: 20, counts: "completed 20 failed 20 denied 0 retried 0 timeouts 0 durations 20", causes: map[string]uint32{"SI stream_idle_timeout 504": 20}},
	{slot: "s17", path: "/max", script: "slow:3s", n: 20, counts: "completed 20 failed 20 denied 0 retried 0 timeouts 0 durations 20", causes: map[string]uint32{" max_duration_timeout 504": 20}},
	{slot: "s18", path: "/upe", n: 20, counts: "completed 20 failed 20 denied 0 retried 0 timeouts 0 durations 20", causes: map[string]uint32{"UPE " + reset + "{protocol_error} 502": 20}},
	{slot: "s19", path: "/upgrade", n: 20, status: 403, line: []envoytest.Line{{Name: "Connection", Value: "upgrade"}, {Name: "Upgrade", Value: "websocket"}},
		counts: "completed 20 failed 0 denied 20 retried 0 timeouts 0 durations 20", causes: map[string]uint32{" upgrade_failed 403": 20}},
}

// TestWhatHappened: of known outcomes of requests the counters and the lines of a real Envoy tell exactly
// what happened: how many ended and how, also those that no counter of Envoy has, and why.
func TestWhatHappened(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	m, got := s.meter(), newTotal()
	if first := next(t, m); first != nil {
		t.Fatalf("the baseline tells %v", first)
	}
	want, sent := map[string]outcome{}, 0
	for i, o := range outcomes {
		s.send(i, o)
		got.add(t, m) // few slots have room for their causes in one message
		if o.counts != "" {
			want["shop.ns:80 "+o.slot] = o
		}
		sent += o.n
	}
	s.disconnect("/dc", 10)
	want["shop.ns:80 s15"] = outcome{counts: "completed 10 failed 0 denied 0 retried 0 timeouts 0 durations 10", causes: map[string]uint32{"DC downstream_remote_disconnect 0": 10}}
	wrong := []string{"nothing was told"}
	for end := time.Now().Add(time.Minute); len(wrong) > 0 && time.Now().Before(end); time.Sleep(200 * time.Millisecond) { // lines and histograms come a little later
		got.add(t, m)
		wrong = got.wrong(want)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if got.written == 0 || got.written != got.received {
		t.Errorf("of %d lines %d came", got.written, got.received)
	}
	for slot, at := range map[string]string{"s3": "60 ms", "s12": "twice 40 ms", "s16": "60 ms", "s17": "60 ms"} {
		if d := got.slots["shop.ns:80 "+slot].GetDurations(); d[0]+d[1]+d[2]+d[3] > 0 {
			t.Errorf("requests of %s that ended after %s took %v", slot, at, d)
		}
	}
	if sent < 3000 {
		t.Errorf("only %d requests were sent", sent)
	}
}

func (o *total) wrong(want map[string]outcome) (wrong []string) {
	for name, w := range want {
		if is := text(o.slots[name]); is != w.counts {
			wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", name, is, w.counts))
		}
		if is := fmt.Sprint(o.causes[name]); is != fmt.Sprint(w.causes) && len(o.causes[name])+len(w.causes) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s, want %v", name, is, w.causes))
		}
	}
	for name := range o.slots {
		if _, known := want[name]; !known {
			wrong = append(wrong, name+" is told")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// send sends the requests of an outcome, each with an id of its own where a script tells the backend what to do.
func (s *sidecar) send(number int, o outcome) {
	s.t.Helper()
	q := envoytest.Wire{Version: "1.1", Method: "GET", Target: o.path, Authority: "shop", Lines: o.line}
	saw := func(r *http.Response) {
		if o.status != 0 && r.StatusCode != o.status {
			s.t.Errorf("%s is answered %d", o.path, r.StatusCode)
		}
	}
	if o.script == "" {
		if err := envoytest.Flood(s.address(), q, o.n, saw); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	for i := range o.n {
		q.Lines = append(slices.Clone(o.line), envoytest.Line{Name: envoytest.IDHeader, Value: fmt.Sprintf("%d-%d", number, i)}, envoytest.Line{Name: envoytest.ScriptHeader, Value: o.script})
		if err := envoytest.Flood(s.address(), q, 1, saw); err != nil {
			s.t.Fatal(err)
		}
	}
}

// disconnect sends requests and goes away before they are answered.
func (s *sidecar) disconnect(path string, n int) {
	s.t.Helper()
	for i := range n {
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			s.t.Fatal(err)
		}
		id := fmt.Sprint("gone-", i)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop\r\n%s: slow:10s\r\n%s: %s\r\n\r\n", path, envoytest.ScriptHeader, envoytest.IDHeader, id)
		until(s.t, "a request that is under way", func() bool { return len(s.backend.Seen(id)) > 0 })
		_ = conn.Close()
	}
}

// TestEnvoyBeginsAgain: counters that begin at zero again are told as what they are: no request twice, none
// negative, and those of both lives.
func TestEnvoyBeginsAgain(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	ok := outcome{path: "/ok", n: 50, status: 200}
	s.send(0, ok) // of nobody
	m, got := s.meter(), newTotal()
	next(t, m)
	s.send(0, ok)
	got.add(t, m)
	s.envoy.Stop()
	if told, err := m.Next(t.Context()); err == nil {
		t.Errorf("of an Envoy that is gone there is told %v", told)
	}
	s.start()
	ok.n = 70
	s.send(0, ok)
	got.add(t, m)
	got.add(t, m)
	if n := got.slots["shop.ns:80 s1"].GetCompleted(); n != 120 {
		t.Errorf("%d requests are told of 50 and 70", n)
	}
}

// TestStreamsBeginWithNothing: what one stream has told, or might have, the next one does not tell.
func TestStreamsBeginWithNothing(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	m, got := s.meter(), newTotal()
	next(t, m)
	s.send(0, outcome{path: "/direct", n: 30, status: 500})
	until(t, "30 lines", func() bool { return s.lines.Received() == 30 })
	got.add(t, m)
	s.send(0, outcome{path: "/direct", n: 20, status: 500}) // not told when the stream breaks
	until(t, "50 lines", func() bool { return s.lines.Received() == 50 })
	again, more := s.meter(), newTotal()
	next(t, again)
	s.send(0, outcome{path: "/direct", n: 10, status: 500})
	until(t, "60 lines", func() bool { return s.lines.Received() == 60 })
	more.add(t, again)
	if a, b := got.slots["shop.ns:80 s7"].GetCompleted(), more.slots["shop.ns:80 s7"].GetCompleted(); a != 30 || b != 10 || more.names[1] != "shop.ns:80" || more.written != 10 || more.received != 10 {
		t.Errorf("the first stream tells %d of 30, the second %d of 10, of %v", a, b, more)
	}
}

// TestReceiverGone: without a receiver no request waits or fails, and what is lost is told.
func TestReceiverGone(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	m, got := s.meter(), newTotal()
	next(t, m)
	s.server.Stop()
	const many = 2000
	s.send(0, outcome{path: "/direct", n: many, status: 500})
	s.send(0, outcome{path: "/ok", n: 200, status: 200})
	until(t, "the end of what Envoy tries to send", func() bool {
		const flushed = "access_logs.grpc_access_log.grpc_entries_flushed"
		return s.envoy.Stats(flushed)[flushed] == many
	})
	s.listen()
	s.send(0, outcome{path: "/ok", n: 100, status: 200})
	s.send(0, outcome{path: "/uh", n: 100, status: 503})
	until(t, "lines of the receiver that is back", func() bool { return s.lines.Received() >= 100 })
	got.add(t, m)
	if got.written != many+100 || got.received < 100 || got.received > many/2 {
		t.Errorf("%d lines were written, %d came", got.written, got.received)
	}
	if n := got.slots["shop.ns:80 s1"].GetCompleted(); n != 300 {
		t.Errorf("of 300 requests that were answered %d are told", n)
	}
}

// TestStormOfErrors: however many requests fail, there are few lines after some seconds, and they tell how
// many failed, and why.
func TestStormOfErrors(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	m, got := s.meter(), newTotal()
	next(t, m)
	sent, busy := 0, make(chan int)
	stop := make(chan struct{})
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				busy <- n
				return
			default:
				if err := envoytest.Flood(s.address(), envoytest.Wire{Version: "1.1", Method: "GET", Target: "/uh", Authority: "shop"}, 160, func(*http.Response) {}); err != nil {
					t.Error(err)
				}
				n += 160
			}
		}
	}()
	const seconds, calm = 14, 5
	var lines [seconds]uint64
	for i := range seconds {
		before := s.lines.Received()
		time.Sleep(time.Second)
		s.look()
		lines[i] = s.lines.Received() - before
	}
	close(stop)
	sent = <-busy
	until(t, "the last lines", func() bool {
		got.add(t, m)
		return got.slots["shop.ns:80 s2"].GetCompleted() == uint32(sent)
	})
	late := uint64(0)
	for _, n := range lines[calm:] {
		late += n
	}
	if late == 0 || late > 60*(seconds-calm) || sent > 10_000 && late > uint64(sent)/20 {
		t.Errorf("of %d requests in %d seconds there were so many lines in each: %v", sent, seconds, lines)
	}
	counted := got.causes["shop.ns:80 s2"]["UH no_healthy_upstream 503"]
	if counted < uint32(sent)*9/10 || counted > uint32(sent)*11/10 {
		t.Errorf("%d requests are told to have failed for the cause of %d", counted, sent)
	}
	t.Logf("%d requests, lines in each second %v, %d told by cause", sent, lines, counted)
}

// TestPrivacy: what a request says of itself, or who sent it, is in no message.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	m := s.meter()
	next(t, m)
	const canary = "canary-4711"
	for _, path := range []string{"/uh", "/direct", "/rbac", "/ok", "/refused", "/nc", "/reset"} {
		q := envoytest.Wire{Version: "1.1", Method: "GET", Target: path + "/" + canary + "?q=" + canary, Authority: canary + ".example", Lines: []envoytest.Line{
			{Name: "Cookie", Value: "a=" + canary}, {Name: "Authorization", Value: "Bearer " + canary}, {Name: "User-Agent", Value: canary}, {Name: "Referer", Value: "http://" + canary + "/"},
			{Name: "X-Request-Id", Value: canary}, {Name: "X-Forwarded-For", Value: canary}, {Name: envoytest.ScriptHeader, Value: "500"}}}
		if err := envoytest.Flood(s.address(), q, 8, func(*http.Response) {}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "lines", func() bool { return s.lines.Received() >= 48 })
	got := newTotal()
	for range 3 {
		told := got.add(t, m)
		if text := told.String(); strings.Contains(text, canary) || strings.Contains(text, "127.0.0.1") {
			t.Errorf("a message tells of a request: %s", text)
		}
	}
	if got.slots["shop.ns:80 s2"].GetCompleted() != 8 || len(got.causes["shop.ns:80 s2"]) == 0 {
		t.Errorf("it was not told what happened: %v", got.slots)
	}
}
