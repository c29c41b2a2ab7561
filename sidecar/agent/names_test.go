package agent

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/resolver"
)

// TestListed: lists are told whole and by changes; changes of a list that was not told end
// the stream, so that the whole one comes.
func TestListed(t *testing.T) {
	t.Parallel()
	var l attach.NameList
	name := func(name, address string) *attach.Name {
		return &attach.Name{Name: name, Addresses: []string{address, "none"}}
	}
	tell := func(n *attach.Names, want map[string]string) {
		t.Helper()
		told, err := l.Tell(n)
		if err != nil {
			t.Fatal(err)
		}
		got := resolved(told)
		names := resolver.NameTable{}
		for name, ip := range want {
			names[name] = resolver.Addresses{Addresses: []netip.Addr{netip.MustParseAddr(ip)}}
		}
		if d := cmp.Diff(names, got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
			t.Errorf("%s: %s", n.GetVersion(), d)
		}
	}
	tell(&attach.Names{Version: "1", Names: []*attach.Name{name("a", "241.0.0.1"), name("b", "241.0.0.2")}}, map[string]string{"a": "241.0.0.1", "b": "241.0.0.2"})
	tell(&attach.Names{Version: "2", Since: "1", Gone: []string{"a"}, Names: []*attach.Name{name("c", "241.0.0.3")}}, map[string]string{"b": "241.0.0.2", "c": "241.0.0.3"})
	if _, err := l.Tell(&attach.Names{Version: "4", Since: "3"}); err == nil {
		t.Error("changes of another list are taken")
	}
	tell(&attach.Names{Version: "5", Names: []*attach.Name{name("d", "241.0.0.4")}}, map[string]string{"d": "241.0.0.4"})
}

// TestReadyWaitsForNames: a workload that starts would take it for an answer that there is no
// such name. It waits for a bounded time, and the log says that it goes on.
func TestReadyWaitsForNames(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := New(Default(), slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(100, 0)
	if err := a.named(now); err != nil {
		t.Errorf("without a resolver: %v", err)
	}
	a.state.unnamed.Store(true)
	for _, after := range []time.Duration{0, 9 * time.Second} {
		if err := a.named(now.Add(after)); err == nil || log.Len() > 0 {
			t.Errorf("after %v it is ready without names: %s", after, &log)
		}
	}
	for range 2 {
		if err := a.named(now.Add(10 * time.Second)); err != nil {
			t.Error(err)
		}
	}
	if strings.Count(log.String(), "ready without the names of the mesh") != 1 {
		t.Errorf("the log says %s", &log)
	}
}
