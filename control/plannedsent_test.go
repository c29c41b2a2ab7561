package control_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/internal/worlds"
)

// histories are random worlds: what is written one after the other. Mutual TLS is left out: what
// a sidecar gets of it follows from what others prove too, not from documents alone.
var histories = rapid.Custom(func(t *rapid.T) [][]api.Change {
	catalog, s := world.Catalog(), api.NewSnapshot(0)
	var out [][]api.Change
	for i := range 12 {
		changes := slices.DeleteFunc(worlds.Changes(t, catalog, s), func(c api.Change) bool {
			return slices.Contains([]string{"Mesh", "MeshTLS", "MeshIdentity", "MeshTrust", "MeshTrafficPermission"}, c.Ref().Kind)
		})
		s = s.With(uint64(i+1), changes)
		out = append(out, changes)
	}
	return out
})

// TestPlansAreWhatStreamsReceive: what a dry run says of Envoy's resources is what the
// connected sidecars then receive, no more and no less: of an apply, of a delete, and of the way
// back to an earlier revision. The difference between two revisions says the same.
func TestPlansAreWhatStreamsReceive(t *testing.T) {
	t.Parallel()
	for seed := range 8 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := config(t)
			c.ListenerDrain = time.Millisecond // what nobody names goes at once
			r := &receiving{plane: start(t, c), streams: map[string]*receiver{}}
			for _, changes := range histories.Example(seed) {
				var text strings.Builder
				for _, c := range changes {
					if c.After != nil {
						document, err := decode.PrintDocument(world.Catalog(), c.After)
						if err != nil {
							t.Fatal(err)
						}
						fmt.Fprintf(&text, "---\n%s\n", document)
					}
				}
				if text.Len() > 0 {
					r.writes(http.MethodPost, "/_apply", text.String())
				}
				for _, c := range changes {
					if typ, _ := world.Catalog().Type(c.Ref().Kind); c.After == nil && c.Ref().Mesh == "default" && c.Ref().Namespace == "" {
						r.writes(http.MethodDelete, "/meshes/default/"+typ.Plural+"/"+c.Ref().Name, "")
					}
				}
			}
			for _, back := range []uint64{max(r.revision/2, 2), 2} {
				r.writes(http.MethodPost, fmt.Sprintf("/_rollback?to=%d", back), "")
			}
			if r.compared == 0 {
				t.Error("nothing was received")
			}
		})
	}
}

// receiving is a control plane with a stream for each dataplane.
type receiving struct {
	*plane
	streams  map[string]*receiver
	revision uint64
	compared int
}

// writes asks what a write would change, writes, and compares with what is received.
func (r *receiving) writes(method, path, body string) {
	r.t.Helper()
	r.connect()
	dry := path + "?dryRun=true"
	if strings.Contains(path, "?") {
		dry = path + "&dryRun=true"
	}
	code, text := r.call(method, dry, body)
	done, answer := r.call(method, path, body)
	if code != done {
		r.t.Fatalf("%s %s: %d, and the dry run said %d: %s", method, path, done, code, text+answer)
	}
	if code != http.StatusOK {
		return // both refused it
	}
	was := r.revision
	to := decoded[struct{ Revision uint64 }](r.t, answer).Revision
	if method == http.MethodDelete { // which tells none
		to = was + 1
	}
	r.settle(to)
	var want, got []string
	same := func() bool {
		want, got = r.named(decoded[plan.Plan](r.t, text).Envoy), []string{}
		for name, s := range r.streams {
			got = append(got, s.changes(name)...)
		}
		slices.Sort(got)
		return slices.Equal(want, got)
	}
	for end := time.Now().Add(10 * time.Second); !same() && time.Now().Before(end); { // what is taken away goes last
		time.Sleep(5 * time.Millisecond)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("%s %s %s\nplanned (-) and received (+):\n%s", method, path, body, diff)
	}
	r.compared += len(got)
	for _, s := range r.streams {
		s.mark() // what comes later is more than what was planned next
	}
	if was != r.revision {
		told := get[plan.Plan](r.plane, fmt.Sprintf("/_diff?from=%d&to=%d", was, r.revision))
		if diff := cmp.Diff(want, r.named(told.Envoy)); diff != "" {
			r.t.Fatalf("%s %s %s\nplanned (-) and the difference afterwards (+):\n%s", method, path, body, diff)
		}
	}
}

// named are the resources of a plan at dataplanes that were connected and still are there.
func (r *receiving) named(list []plan.Resource) []string {
	out := []string{}
	for _, e := range list {
		for _, dp := range append(slices.Clone(e.Dataplanes), e.Dataplane) {
			if r.streams[dp] != nil && e.Mesh == "default" {
				out = append(out, fmt.Sprint(dp, " ", e.Action, " ", e.Type, " ", e.Name))
			}
		}
	}
	slices.Sort(out)
	return out
}

// sidecars are what the control plane says of those of the mesh.
func (r *receiving) sidecars() (names []string, synced bool, revision uint64) {
	list := get[struct {
		Revision uint64
		Items    []struct {
			Name  string
			State inspect.State
			Acked uint64
		}
	}](r.plane, "/meshes/default/_sidecars?size=1000")
	synced = true
	for name, s := range r.streams {
		if err := s.over(); err != nil { // a dataplane of that name is there now
			if !strings.Contains(err.Error(), "connect again") {
				r.t.Fatalf("the stream of %s ended: %v", name, err)
			}
			delete(r.streams, name)
		}
	}
	for _, s := range list.Items {
		names = append(names, s.Name)
		if r.streams[s.Name] != nil && (s.State != inspect.StateInSync || s.Acked != list.Revision) {
			synced = false
		}
	}
	return names, synced, list.Revision
}

// settle waits until all that are connected have confirmed a revision, and lets go those whose
// dataplanes are gone.
func (r *receiving) settle(revision uint64) {
	r.t.Helper()
	var names []string
	eventually(r.t, "sidecars have confirmed what was written", func() bool {
		all, synced, at := r.sidecars()
		names, r.revision = all, at
		return synced && at >= revision
	})
	for name, s := range r.streams {
		if !slices.Contains(names, name) {
			s.end()
			delete(r.streams, name)
		}
	}
}

// connect opens a stream for each dataplane that has none, and begins to count what it receives.
func (r *receiving) connect() {
	r.t.Helper()
	names, _, at := r.sidecars()
	var joined []*receiver
	for _, name := range names {
		if r.streams[name] == nil {
			r.streams[name] = r.receives(name)
			joined = append(joined, r.streams[name])
		}
	}
	r.settle(at)
	for _, s := range joined {
		s.mark()
	}
}

// receiver is a sidecar that confirms all it gets.
type receiver struct {
	end   func()
	mu    sync.Mutex
	ended error             // why it ended
	held  map[string]string // bytes by type and name
	begin map[string]string // those at the mark
	again []string          // what came though it was held
	warms map[string]bool   // clusters that ever changed: an Envoy then waits for their endpoints, also for the same
}

// receives asks for everything there is for a dataplane.
func (p *plane) receives(name string) *receiver {
	p.t.Helper()
	stream, end := p.stream(name, "")
	p.t.Cleanup(end)
	out := &receiver{end: end, held: map[string]string{}, warms: map[string]bool{}}
	for _, kind := range []string{"listener.v3.Listener", "route.v3.RouteConfiguration", "endpoint.v3.ClusterLoadAssignment"} {
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy.config." + kind, ResourceNamesSubscribe: []string{"*"}}); err != nil {
			p.t.Fatal(err)
		}
	}
	go func() {
		for {
			answer, err := stream.Recv()
			if err != nil {
				out.mu.Lock()
				out.ended = err
				out.mu.Unlock()
				return
			}
			out.take(answer)
			if stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: answer.TypeUrl, ResponseNonce: answer.Nonce}) != nil {
				return
			}
		}
	}()
	return out
}

// take keeps what an answer brings.
func (s *receiver) take(answer *discoveryv3.DeltaDiscoveryResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := answer.TypeUrl[strings.LastIndex(answer.TypeUrl, ".")+1:] + " "
	for _, x := range answer.Resources {
		bytes := string(x.Resource.Value)
		same := s.held[kind+x.Name] == bytes
		switch {
		case kind == "Cluster " && !same:
			s.warms[x.Name] = true
		case same && !(kind == "ClusterLoadAssignment " && s.warms[x.Name]):
			s.again = append(s.again, "again "+kind+x.Name)
		}
		s.held[kind+x.Name] = bytes
	}
	for _, name := range answer.RemovedResources {
		if _, had := s.held[kind+name]; !had {
			s.again = append(s.again, "gone again "+kind+name)
		}
		delete(s.held, kind+name)
	}
}

// over is why the stream ended, if it has.
func (s *receiver) over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// mark begins to count anew.
func (s *receiver) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin, s.again = maps.Clone(s.held), nil
}

// changes are what was received since the mark, as plans name it.
func (s *receiver) changes(dataplane string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, is := range s.held {
		if had, there := s.begin[name]; !there {
			out = append(out, dataplane+" create "+name)
		} else if had != is {
			out = append(out, dataplane+" update "+name)
		}
	}
	for name := range s.begin {
		if _, stays := s.held[name]; !stays {
			out = append(out, dataplane+" delete "+name)
		}
	}
	for _, what := range s.again {
		out = append(out, dataplane+" "+what)
	}
	return out
}
