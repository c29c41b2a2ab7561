package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
)

const unansweredDocs = `
type: MeshService
mesh: default
name: waits
spec: {selector: {dataplaneTags: {app: waits}}, ports: [{port: 80, targetPort: 8080}]}
---
type: MeshService
mesh: default
name: lost
spec: {selector: {dataplaneTags: {app: nobody}}, ports: [{port: 81}]}
---
type: MeshService
mesh: default
name: answers
spec: {selector: {dataplaneTags: {app: answers}}, ports: [{port: 80, targetPort: 8080}]}
---
type: MeshExternalService
mesh: default
name: outside
spec: {match: {type: HostnameGenerator, port: 443}, endpoints: [{address: 192.0.2.1, port: 443}]}
---
type: MeshMultiZoneService
mesh: default
name: everywhere
spec: {selector: {meshService: {matchLabels: {in: none}}}, ports: [{port: 80}]}
---
{type: Dataplane, mesh: default, name: waits-1, networking: {address: 10.0.0.1, inbound: [{port: 8080, state: NotReady, tags: {kuma.io/service: waits, app: waits}}]}}
---
{type: Dataplane, mesh: default, name: waits-2, networking: {address: 10.0.0.2, inbound: [{port: 8080, state: NotReady, tags: {kuma.io/service: waits, app: waits}}]}}
---
{type: Dataplane, mesh: default, name: answers-1, networking: {address: 10.0.0.3, inbound: [{port: 8080, tags: {kuma.io/service: answers, app: answers}}]}}
---
{type: Dataplane, mesh: default, name: answers-2, networking: {address: 10.0.0.4, inbound: [{port: 8080, state: NotReady, tags: {kuma.io/service: answers, app: answers}}]}}
`

// TestServicesForWhichNobodyAnswersAreTold: those that somebody is to answer for, with who is not ready;
// what changes is told by the next model, as by one that is made anew.
func TestServicesForWhichNobodyAnswersAreTold(t *testing.T) {
	t.Parallel()
	read := func(text string) *snapshot.Snapshot {
		objects, err := decode.Objects(world.Catalog(), "docs", []byte(text))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		return snapshot.New(1, objects...)
	}
	told := func(m *resolve.Model) (ids []string, text string) {
		for _, u := range m.Reader(nil).Unanswered("default") {
			ids = append(ids, u.ID)
			text += u.Why + "\n"
		}
		return ids, text
	}
	before := read(unansweredDocs)
	m, _ := resolve.Compile(before, world.Dialects(), world.Kinds())
	ids, text := told(m)
	if want := []string{"lost", "waits", "waits"}; len(ids) != len(want) || !slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(id, "lost") }) {
		t.Fatalf("%q is told, want as many as %q", ids, want)
	}
	for _, want := range []string{"not ready are waits-1, waits-2; look at the readiness probe", "no dataplane that it selects has an inbound for its port 81"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "answers-") || strings.Contains(text, "outside") || strings.Contains(text, "everywhere") {
		t.Errorf("others are told too:\n%s", text)
	}
	after := read(strings.ReplaceAll(unansweredDocs, "state: NotReady, tags: {kuma.io/service: waits,", "tags: {kuma.io/service: waits,"))
	var changes []snapshot.Change
	for o := range after.OfKind(api.KindDataplane) {
		was, _ := before.Get(o.Ref)
		changes = append(changes, snapshot.Change{Before: was, After: o})
	}
	next, _ := m.Update(after, changes)
	if ids, text := told(next); len(ids) != 1 || !strings.Contains(ids[0], "lost") {
		t.Errorf("after they are ready: %q\n%s", ids, text)
	}
}
