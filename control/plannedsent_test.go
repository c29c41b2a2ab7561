package control_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/internal/worlds"
)

// histories are random worlds: what is written one after the other, of kinds that take says.
func histories(take func(kind string) bool) *rapid.Generator[[][]snapshot.Change] {
	return rapid.Custom(func(t *rapid.T) [][]snapshot.Change {
		catalog, s := world.Catalog(), snapshot.New(0)
		var out [][]snapshot.Change
		for i := range 12 {
			changes := slices.DeleteFunc(worlds.Changes(t, catalog, s), func(c snapshot.Change) bool { return !take(c.Ref().Kind) })
			s = s.With(uint64(i+1), changes)
			out = append(out, changes)
		}
		return out
	})
}

// provingKinds are those that say who workloads are, how they prove it, and what is asked of
// others.
var provingKinds = []string{"Mesh", "MeshTLS", "MeshIdentity", "MeshTrust", "MeshTrafficPermission"}

// TestPlansAreWhatStreamsReceive: what a dry run says of Envoy's resources is what the
// connected sidecars then receive, no more and no less: of an apply, of a delete, and of the way
// back to an earlier revision. Of dataplanes that come with the change it is all that they get;
// those that go are told, and get nothing. Each field that is told to change does, and no other.
// The difference between two revisions says the same.
func TestPlansAreWhatStreamsReceive(t *testing.T) {
	t.Parallel()
	plain := histories(func(kind string) bool { return !slices.Contains(provingKinds, kind) })
	plansAreReceived(t, plain)
}

// TestPlansOfIdentitiesAreWhatStreamsReceive: so it is where documents say who workloads are,
// how they prove it and who may call. Nobody proves anything here, so that all follows from the
// documents; sidecars that get nothing until they do are left out.
func TestPlansOfIdentitiesAreWhatStreamsReceive(t *testing.T) {
	t.Parallel()
	identities := histories(func(kind string) bool {
		return slices.Contains([]string{"Dataplane", "MeshService", "MeshHTTPRoute"}, kind) || slices.Contains(provingKinds, kind)
	})
	plansAreReceived(t, identities)
}

// plansAreReceived writes histories, and compares each plan with what comes of it.
func plansAreReceived(t *testing.T, from *rapid.Generator[[][]snapshot.Change]) {
	t.Helper()
	var all counts
	for seed := range 8 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n := planIsReceived(t, from.Example(seed))
			all = counts{all.compared + n.compared, all.came + n.came, all.went + n.went, all.fields + n.fields}
		})
	}
	if min(all.compared, all.came, all.went, all.fields) < 10 {
		t.Errorf("too little was received: %+v", all)
	}
}

func planIsReceived(t *testing.T, history [][]snapshot.Change) counts {
	t.Helper()
	c := config(t)
	c.ListenerDrain = time.Millisecond // what nobody names goes at once
	r := &receiving{plane: start(t, c), streams: map[string]*receiver{}, gone: map[string]*receiver{}}
	for _, changes := range history {
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
	return r.counts
}

// receiving is a control plane with a stream for each dataplane.
type receiving struct {
	*plane
	streams  map[string]*receiver
	gone     map[string]*receiver // whose dataplanes went with the last write
	without  map[string]bool      // those that get nothing, for want of a certificate
	revision uint64
	counts
}

// counts are how much was compared: resources, dataplanes that came and went, and fields.
type counts struct{ compared, came, went, fields int }

// writes asks what a write would change, writes, and compares with what is received.
func (r *receiving) writes(method, path, body string) {
	r.t.Helper()
	r.connect()
	dry, back := path+"?dryRun=true&include=diff", strings.Contains(path, "?")
	if back {
		dry = path + "&dryRun=true" // which has no fields to include
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
	before, without := slices.Collect(maps.Keys(r.streams)), r.without
	r.gone = map[string]*receiver{}
	r.settle(to)
	r.join()
	maps.Copy(r.without, without)
	r.compare(decoded[plan.Plan](r.t, text), before, !back)
	if r.t.Failed() {
		r.t.Fatalf("%s %s %s", method, path, body)
	}
	if was != r.revision {
		told := get[plan.Plan](r.plane, fmt.Sprintf("/_diff?from=%d&to=%d", was, r.revision))
		if diff := cmp.Diff(r.named(decoded[plan.Plan](r.t, text).Envoy), r.named(told.Envoy)); diff != "" {
			r.t.Fatalf("%s %s %s\nplanned (-) and the difference afterwards (+):\n%s", method, path, body, diff)
		}
	}
}

// compare holds a plan against what came of it; before are the dataplanes that there were.
func (r *receiving) compare(planned plan.Plan, before []string, fields bool) {
	r.t.Helper()
	r.comings(planned.Effects, before)
	want, got := r.named(planned.Envoy), r.received()
	for end := time.Now().Add(10 * time.Second); !slices.Equal(want, got) && time.Now().Before(end); got = r.received() { // what is taken away goes last
		time.Sleep(5 * time.Millisecond)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("planned (-) and received (+):\n%s", diff)
		return
	}
	r.compared += len(got)
	if fields {
		r.fieldsHold(planned.Envoy)
	}
	for _, s := range r.streams {
		s.mark() // what comes later is more than what was planned next
	}
	for _, s := range r.gone {
		s.end()
	}
}

// comings holds what a plan says of dataplanes that come and go against those that there are
// now, and were before.
func (r *receiving) comings(effects []plan.Effect, before []string) {
	r.t.Helper()
	want, got := []string{}, []string{}
	for _, e := range effects {
		for _, dp := range append(slices.Clone(e.Dataplanes), e.Dataplane) {
			if dp != "" && e.Mesh == "default" && e.Section == plan.SectionDataplane {
				want = append(want, fmt.Sprintf("%s: %v to %v", dp, e.Before, e.After))
			}
		}
	}
	for _, dp := range before {
		if r.streams[dp] == nil {
			got = append(got, fmt.Sprintf("%s: %[1]s to <nil>", dp))
			r.went++
		}
	}
	for dp := range r.streams {
		if !slices.Contains(before, dp) {
			got = append(got, fmt.Sprintf("%s: <nil> to %[1]s", dp))
			r.came++
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("dataplanes that are planned (-) and seen (+) to come and go:\n%s", diff)
	}
}

// received is what all streams got since the last mark, also those whose dataplanes went: a plan
// tells nothing of these, whose sidecars keep what they have.
func (r *receiving) received() []string {
	out := []string{}
	for _, streams := range []map[string]*receiver{r.streams, r.gone} {
		for name, s := range streams {
			if !r.without[name] {
				out = append(out, s.changes(name)...)
			}
		}
	}
	slices.Sort(out)
	return out
}

// named are the resources of a plan in the mesh, at all who get some.
func (r *receiving) named(list []plan.Resource) []string {
	out := []string{}
	for _, e := range list {
		for _, dp := range append(slices.Clone(e.Dataplanes), e.Dataplane) {
			if dp != "" && e.Mesh == "default" && !r.without[dp] {
				out = append(out, fmt.Sprint(dp, " ", e.Action, " ", e.Type, " ", e.Name))
			}
		}
	}
	slices.Sort(out)
	return out
}
