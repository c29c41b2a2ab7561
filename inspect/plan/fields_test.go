package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/resource"
)

// fieldsOf is the plan of writes over a world of two callers of a backend, with what changes in
// resources as printer has them.
func fieldsOf(t *testing.T, change string, printer func(*resource.Resource) ([]byte, error)) plan.Plan {
	t.Helper()
	step, results := stepOf(t, fieldsBefore, change)
	step.Print = printer
	return plan.Of(step, results)
}

// stepOf is what writes over a world would change.
func stepOf(t *testing.T, before, change string) (step.Comparison, []store.Result) {
	t.Helper()
	was, violations := world.Decode("before.yaml", []byte(before))
	is, wrong := world.Decode("change.yaml", []byte(change))
	if len(violations)+len(wrong) > 0 {
		t.Fatal(violations, wrong)
	}
	model, _ := world.Compile(world.Snapshot(was...))
	var writes []store.Write
	for _, o := range is {
		writes = append(writes, store.Write{Put: o})
	}
	step, results := step.Next(model, writes, time.Unix(0, 0))
	step.Renderer = world.Settings{}.Renderer()
	return step, results
}

const fieldsBefore = `{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}], outbound: [{port: 1001, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: b, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: b}}], outbound: [{port: 1001, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: web, networking: {address: 127.0.0.3, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: MeshRetry, mesh: default, name: r, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}
`

// TestFieldsOfResources: what changes in a resource is told field by field, as one of its
// dataplanes has it; nothing is told unasked.
func TestFieldsOfResources(t *testing.T) {
	t.Parallel()
	const change = "{type: MeshRetry, mesh: default, name: r, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 4}}}]}}"
	p := fieldsOf(t, change, attach.Print)
	var found []string
	for _, r := range p.Envoy {
		for _, f := range r.Fields {
			if strings.HasSuffix(f.Path, "retry_policy.num_retries") {
				found = append(found, r.Type+" "+r.FieldsAt+" "+string(text(t, f.Before))+" "+string(text(t, f.After)))
			} else {
				t.Errorf("%s changes too: %+v", r.Name, f)
			}
		}
	}
	if len(found) != 1 || found[0] != "RouteConfiguration a 3 4" {
		t.Errorf("%q, wanted the retries of one table", found)
	}
	var out strings.Builder
	if err := plan.Text(&out, p, terminal.Style{}); err != nil || !strings.Contains(out.String(), "retry_policy.num_retries: 3 → 4\n      as it is at a\n") {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, r := range fieldsOf(t, change, nil).Envoy {
		if r.Fields != nil || r.FieldsAt != "" || r.FieldsCut != 0 {
			t.Errorf("unasked: %+v", r)
		}
	}
}

// TestFieldsOfNewResources: of one that comes all is told; one that cannot be printed is counted.
func TestFieldsOfNewResources(t *testing.T) {
	t.Parallel()
	const change = "{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}], outbound: [{port: 1001, tags: {kuma.io/service: web}}, {port: 1002, tags: {kuma.io/service: b}}]}}"
	comes := 0
	for _, r := range fieldsOf(t, change, attach.Print).Envoy {
		if r.Action != "create" {
			continue
		}
		comes++
		if len(r.Fields) != 1 || r.Fields[0].Path != "" || r.Fields[0].Before != nil || !strings.Contains(string(text(t, r.Fields[0].After)), r.Name) {
			t.Errorf("%s %s: %+v", r.Type, r.Name, r.Fields)
		}
	}
	if comes == 0 {
		t.Error("nothing comes")
	}
	broken := func(*resource.Resource) ([]byte, error) { return nil, errors.New("broken") }
	for _, r := range fieldsOf(t, change, broken).Envoy {
		if len(r.Fields) > 0 || r.FieldsCut != 1 {
			t.Errorf("%s %s cannot be printed, and is told as %+v", r.Type, r.Name, r)
		}
	}
}

// TestFieldsAreBounded: however much changes, so much is told, and the rest is counted.
func TestFieldsAreBounded(t *testing.T) {
	t.Parallel()
	long := func(x *resource.Resource) ([]byte, error) {
		return json.Marshal(map[string]string{"name": x.Name, "long": strings.Repeat(x.Version, 1<<19/len(x.Version))})
	}
	p := fieldsOf(t, "{type: MeshRetry, mesh: default, name: r, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 5}}}]}}\n---\n"+
		"{type: MeshTimeout, mesh: default, name: t, spec: {to: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 7s, http: {requestTimeout: 9s}}}]}}", long)
	size, cut := 0, 0
	for _, r := range p.Envoy {
		cut += r.FieldsCut
		size += len(text(t, r.Fields))
	}
	if cut == 0 || size > 2<<20 {
		t.Errorf("%d bytes of fields, and %d are not told", size, cut)
	}
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
