package changes

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// warningsTold are as many warnings as one answer has, and how many more there are.
func warningsTold(warnings []*api.Violation) (told []inspect.Violation) {
	for _, v := range warnings[:min(len(warnings), httpapi.MostMistakes)] {
		told = append(told, inspect.ViolationOf(v))
	}
	if more := len(warnings) - httpapi.MostMistakes; more > 0 {
		told = append(told, inspect.ViolationOf(&api.Violation{Code: "Cut", Severity: api.Warning, Message: fmt.Sprintf("there are %d more warnings", more)}))
	}
	return told
}

// mostWidened is how many verdicts are told of documents that were stored.
const mostWidened = 50

// widened is by which verdicts something gets in since documents were stored, of dataplanes of their
// meshes. A bug that is met is a log: the documents are stored.
func (c *DocumentWriter) widened(ctx context.Context, done outcome) (out []access.Access, cut int) {
	if done.before == nil || done.model == nil {
		return nil, 0
	}
	defer func() {
		if bug := recover(); bug != nil {
			c.Log.Error("what widens could not be found", "panic", bug, "stack", string(debug.Stack()))
			out, cut = nil, 0
		}
	}()
	step := step.Comparison{Before: done.before, After: done.model, Wanted: func() bool { return ctx.Err() == nil }}
	meshes := map[string]bool{}
	for _, r := range done.results {
		meshes[cmp.Or(r.Ref.Mesh, r.Ref.Name)] = r.Action != store.Unchanged || meshes[cmp.Or(r.Ref.Mesh, r.Ref.Name)]
	}
	for mesh, changes := range meshes {
		if !changes || !done.model.Reader(nil).Identities(mesh) && !done.before.Reader(nil).Identities(mesh) {
			continue
		}
		for o := range done.model.Snapshot().Of(api.KindDataplane, mesh) {
			was, had := done.before.Dataplane(o.Ref)
			if is, _ := done.model.Dataplane(o.Ref); had && is != was {
				step.Affected = append(step.Affected, o.Ref)
			}
		}
	}
	slices.SortFunc(step.Affected, api.Ref.Compare)
	return access.Widening(step, mostWidened)
}

// dangling is what the world says about written objects: references that lead
// nowhere, fields without effect. It looks at what they are about. The places are
// those in the texts that were sent, also where the store keeps an older text that
// says the same. A bug that is met is a warning: the documents are stored.
func (c *DocumentWriter) dangling(model *resolve.Model, objects []*api.Object) (out []*api.Violation) {
	if model == nil {
		return nil
	}
	defer func() {
		if bug := recover(); bug != nil {
			c.Log.Error("warnings could not be found", "panic", bug, "stack", string(debug.Stack()))
			out = append(out, &api.Violation{Code: "Failed", Severity: api.Warning,
				Message: "a bug in weft keeps its warnings from being found; report the log of the control plane"})
		}
	}()
	refs := make([]api.Ref, len(objects))
	for i, o := range objects {
		refs[i] = o.Ref
	}
	// Most documents have no notes, and an index of all of a large batch is half as large as they are.
	places := sync.OnceValue(func() *notes.Locator { return notes.LocatorIn(snapshot.New(0, objects...)) })
	for _, n := range notes.On(c.ReaderOf(model, nil), refs...) {
		if n.Severity != api.Info {
			out = append(out, &api.Violation{Position: places().Of(n), Object: n.Origin.Ref, Field: n.Field, Code: n.Code,
				Message: strings.TrimSpace(n.Message), Severity: api.Warning})
		}
	}
	return out
}

// plaintextClients are warnings on written objects after which somebody is refused who calls in
// plain text.
func (c *DocumentWriter) plaintextClients(m *resolve.Model, objects []*api.Object) []*api.Violation {
	if m == nil || c.Security == nil {
		return nil
	}
	return mtls.PlaintextClients(c.ReaderOf(m, nil), objects, time.Now(), c.Security.Secured)
}

// refusedBySwitch are warnings on planned objects after which dataplanes are refused, certificates or
// as callers.
func (c *DocumentWriter) refusedBySwitch(o outcome, objects []*api.Object) []*api.Violation {
	if o.step == nil || c.Security == nil {
		return nil
	}
	return mtls.RefusedBySwitch(c.ReaderOf(o.step.Before, nil), c.ReaderOf(o.step.After, nil), objects, func(dp api.Ref) (api.IdentityRefusal, bool) {
		return c.Security.Unproven(o.step.After, dp)
	})
}

// warned is what a write says of what it wrote.
func warned(found []*api.Violation) accepted {
	var body accepted
	for _, v := range found {
		text := v.Message
		if v.Field != "" {
			text = string(v.Field) + ": " + text
		}
		body.Warnings = append(body.Warnings, text)
	}
	return body
}
