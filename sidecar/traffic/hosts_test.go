package traffic_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/traffic"
)

func addressOf(h *attach.Host) string {
	ip, _ := netip.AddrFromSlice(h.GetAddress()[:len(h.GetAddress())-2])
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(h.GetAddress()[len(h.GetAddress())-2:])).String()
}

// TestHostsOfAMessage: a message tells where attempts failed, the most first and at most 16 of them, in a part of its
// room, and each is of a cluster whose name the stream has told.
func TestHostsOfAMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := &fake{life: 0, counts: map[string]uint64{}}
		m := traffic.New(f.source())
		next(t, m)
		named := map[uint32]string{}
		for range rapid.IntRange(1, 4).Draw(rt, "intervals") {
			failed := map[string]uint32{}
			for range rapid.IntRange(0, 60).Draw(rt, "attempts") {
				cluster, host := fmt.Sprint("t", rapid.IntRange(0, 9).Draw(rt, "cluster"), strings.Repeat("x", rapid.SampledFrom([]int{1, 200}).Draw(rt, "length"))), rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "fd00::1", "::ffff:10.0.0.3"}).Draw(rt, "host")
				f.attempt(cluster, host, 80)
				failed[cluster+" "+netip.AddrPortFrom(netip.MustParseAddr(host).Unmap(), 80).String()]++
				f.counts[cluster+".route.s1.upstream_rq_completed"] += 3
			}
			told := next(t, m)
			for _, h := range told.GetHosts() {
				if h.GetName() != "" {
					if named[h.GetCluster()] != "" {
						rt.Fatalf("%s is told twice", h.GetName())
					}
					named[h.GetCluster()] = h.GetName()
				}
			}
			if len(told.GetHosts()) > 16 || len(failed) > 0 && len(told.GetHosts()) == 0 {
				rt.Fatalf("%d hosts are told of %d", len(told.GetHosts()), len(failed))
			}
			for i, h := range told.GetHosts() {
				if n := failed[named[h.GetCluster()]+" "+addressOf(h)]; n == 0 || h.GetErrors() != n || h.GetLines() != n {
					rt.Fatalf("%v of %q is told, and had %d", h, named[h.GetCluster()], n)
				}
				if i > 0 && h.GetErrors() > told.GetHosts()[i-1].GetErrors() {
					rt.Fatalf("%v are not the most first", told.GetHosts())
				}
			}
		}
		if told := next(t, m); len(told.GetHosts()) != 0 {
			rt.Fatalf("%v is told twice", told.GetHosts())
		}
	})
}

// TestHostsThatFail: of known failures a real Envoy's attempts tell at which address they were, and how they ended,
// also where the request was answered by another attempt.
func TestHostsThatFail(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	m, got := s.meter(), map[string]*attach.Host{}
	next(t, m)
	sent := []outcome{{path: "/ok", n: 100}, {path: "/ok", script: "500", n: 12}, {path: "/ok", script: "404", n: 9}, {path: "/ut", script: "slow:3s", n: 3}, {path: "/pertry", script: "slow:3s", n: 2},
		{path: "/retry", script: "503,200", n: 8}, {path: "/reset", script: "reset", n: 7}, {path: "/refused", n: 6}, {path: "/uo", n: 5}, {path: "/uh", n: 4}}
	for i, o := range sent {
		s.send(i, o)
	}
	s.disconnect("/dc", 3)
	want := map[string]string{fmt.Sprintf("%s:%d", s.backend.Host, s.backend.Port): "refused 0 closed 7 timeouts 7 errors 20 lines 34"}
	var texts []string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		for _, h := range next(t, m).GetHosts() {
			sum := got[addressOf(h)]
			if sum == nil {
				sum = &attach.Host{}
				got[addressOf(h)] = sum
			}
			sum.Refused, sum.Closed, sum.Timeouts = sum.Refused+h.GetRefused(), sum.Closed+h.GetClosed(), sum.Timeouts+h.GetTimeouts()
			sum.Errors, sum.Lines = sum.Errors+h.GetErrors(), sum.Lines+h.GetLines()
		}
		texts = nil
		right := true
		for address, h := range got {
			is := fmt.Sprintf("refused %d closed %d timeouts %d errors %d lines %d", h.GetRefused(), h.GetClosed(), h.GetTimeouts(), h.GetErrors(), h.GetLines())
			texts = append(texts, address+" "+is)
			expected, known := want[address]
			if !known { // where nobody listens
				expected = "refused 6 closed 0 timeouts 0 errors 0 lines 6"
			}
			right = right && is == expected
		}
		if right && len(got) == 2 {
			return
		}
	}
	slices.Sort(texts)
	t.Errorf("told are\n%s\nwant %v, and 6 refused elsewhere", strings.Join(texts, "\n"), want)
}
