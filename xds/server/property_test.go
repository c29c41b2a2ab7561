package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

func open(url, content string, into proto.Message) bool {
	return (&anypb.Any{TypeUrl: url, Value: []byte(content)}).UnmarshalTo(into) == nil
}

// TestClientEndsWithWhatWasPublished: after any sequence of publications,
// refusals, broken streams and restarts, in either form, a client that behaves
// as Envoy does has exactly the newest state, but for what it refuses itself.
func TestClientEndsWithWhatWasPublished(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		p := serve(t, func(o *server.Options) {
			o.ResendEvery, o.HoldRoutes, o.Drain, o.ResponseBytes = time.Millisecond, 20*time.Millisecond, 0, 400
			o.StreamsPerIdentity = 10 // a stream that is broken at once may reach the server after its successor
		}, exclusive, service("web", 10001), service("a", 10002), service("b", 10003),
			member("web", 10001), member("a", 10002), member("b", 10003), caller("front", map[uint32]string{20001: "web"}))
		rapid.Check(t, func(t *rapid.T) { converge(t, p, form) })
	})
}

func converge(t *rapid.T, p *plane, form string) {
	p.until("front", "is gone", func(s syncstatus.Status) bool { return !s.Connected })
	p.restart()
	m := newModel(t, dial(p.t, p.addr), form)
	m.torn, m.named = rapid.Bool().Draw(t, "torn"), rapid.Bool().Draw(t, "named")
	bad := map[string]bool{} // every content that the client refuses or ever refused
	m.refuses = func(content string) bool { return bad[content] }
	m.connect()
	defer func() { m.end() }()
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"publish", "publish", "refuse", "listen", "reconnect", "restart"}).Draw(t, "step") {
		case "publish":
			p.apply(draw(t)...)
		case "refuse":
			affected := p.change(draw(t)...)
			if r := rapid.SampledFrom(refusable(desired(p))).Draw(t, "refused"); !has(m, r) {
				bad[string(r.Content().Value)] = true
			}
			p.Publish(p.model, affected)
		case "listen":
			m.listen(p)
		case "reconnect":
			m.end()
			p.until("front", "is gone", func(s syncstatus.Status) bool { return !s.Connected })
			m.connect()
		case "restart":
			if len(bad) > 0 { // what a torn refusal left behind, only the server that sent it knows
				continue
			}
			m.end()
			p.restart()
			m.connect()
		}
	}
	m.listen(p)
	m.compare(desired(p), bad)
}

// draw is a change of a few documents.
func draw(t *rapid.T) []string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var out []string
	for range rapid.IntRange(1, 2).Draw(t, "documents") {
		switch pick("document", "route", "connections", "retries", "outbounds", "timeout", "endpoint") {
		case "route":
			out = append(out, switched(pick("backend", "web", "a", "b")))
		case "connections":
			out = append(out, connected(pick("backend", "web", "a", "b")), strings.Replace(switched("web"), "{kind: Mesh}", "{kind: Dataplane, name: other}", 1))
		case "retries":
			out = append(out, retries(rapid.IntRange(1, 5).Draw(t, "retries")))
		case "timeout":
			out = append(out, connecting(pick("service", "web", "a"), pick("timeout", "2s", "3s")))
		case "endpoint":
			out = append(out, member(pick("service", "web", "a"), rapid.Uint32Range(10001, 10002).Draw(t, "port")))
		case "outbounds":
			calls := map[uint32]string{20001: "web"}
			for i, name := range []string{"a", "b"} {
				if rapid.Bool().Draw(t, name) {
					calls[uint32(20002+i)] = name
				}
			}
			out = append(out, caller("front", calls))
		}
	}
	seen := map[string]bool{} // one publication names an object once
	kept := out[:0]
	for _, d := range out {
		var head string
		_, _ = fmt.Sscanf(d, "type: %s", &head)
		if !seen[head] {
			seen[head] = true
			kept = append(kept, d)
		}
	}
	return kept
}

func desired(p *plane) *resource.State {
	r, _ := p.model.Dataplane(dataplaneRef("front"))
	return xds.NewRenderer(world.Kinds()).Render(r)
}

// refusable is what an Envoy may refuse.
func refusable(s *resource.State) []*resource.Resource {
	var out []*resource.Resource
	for _, list := range [][]*resource.Resource{s.Clusters, s.Listeners, s.Routes} {
		out = append(out, list...)
	}
	return out
}

func has(m *model, r *resource.Resource) bool {
	return m.have[kindOf(r.Type)][r.Name] == string(r.Content().Value)
}

// listen takes responses until the server has nothing more to say.
func (m *model) listen(p *plane) {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		select {
		case in := <-m.got:
			m.take(in)
			continue
		case <-time.After(time.Millisecond):
		}
		s, _ := p.Status(dataplaneRef("front"))
		if s.InSync && s.Acked == p.snapshot.Revision() {
			return
		}
		taken := s.Published == p.snapshot.Revision() // else the refusal is of what was before
		if taken && s.Nack != nil && s.Nack.Current && m.calm(p) {
			return
		}
	}
	s, _ := p.Status(dataplaneRef("front"))
	m.t.Fatalf("never in sync: %+v %+v", s, s.Nack)
}

// calm reports whether the server has nothing to do for the client, and still has
// not when it must have read what the client said last.
func (m *model) calm(p *plane) bool {
	for range 2 {
		if !p.Idle(dataplaneRef("front")) {
			return false
		}
		select {
		case in := <-m.got:
			m.take(in)
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return p.Idle(dataplaneRef("front"))
}

// compare holds what the client has against what it should have.
func (m *model) compare(want *resource.State, bad map[string]bool) {
	refusing := false
	lists := map[string][]*resource.Resource{"cds": want.Clusters, "eds": want.Endpoints, "lds": want.Listeners, "rds": want.Routes}
	for _, k := range kindsInOrder {
		for _, r := range lists[k] {
			refusing = refusing || bad[string(r.Content().Value)]
		}
	}
	for _, k := range kindsInOrder {
		names, got := map[string]bool{}, map[string]bool{}
		for _, r := range lists[k] {
			needed := k == "cds" || k == "lds" || m.needs(k)[r.Name]
			if bad[string(r.Content().Value)] || !needed {
				delete(m.have[k], r.Name) // it may have what was before, or nothing
				continue
			}
			names[r.Name] = true
			if !has(m, r) {
				m.t.Errorf("%s: %s is not as it was published (it is there: %t)", k, r.Name, m.have[k][r.Name] != "")
			}
		}
		if refusing && (k == "cds" || k == "eds") {
			continue // the routes of before may still need the clusters of before
		}
		for name := range m.have[k] {
			got[name] = true
		}
		if d := cmp.Diff(names, got); d != "" {
			m.t.Errorf("%s (-want +got):\n%s", k, d)
		}
	}
}
