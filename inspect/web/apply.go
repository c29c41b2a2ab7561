package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/store"
)

// applied is the answer to POST /_apply.
type applied struct {
	Revision uint64              `json:"revision"`
	DryRun   bool                `json:"dryRun,omitempty"`
	Results  []result            `json:"results"`
	Warnings []inspect.Violation `json:"warnings,omitempty"`
}

type result struct {
	Object string       `json:"object"`
	Action store.Action `json:"action"`
}

// apply writes a stream of documents as one revision, or none of them.
func (s *server) apply(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxApply))
	if err != nil {
		return err
	}
	objects, err := s.Catalog.Decode(r.URL.Query().Get("file"), body)
	if errors.Is(err, api.ErrNoDocuments) {
		return badField("", "no documents; send a stream of YAML documents or a JSON array")
	}
	if api.Refuses(err) {
		return notValid(api.Violations(err))
	}
	warnings := api.Violations(err)
	if err := s.meshesExist(objects); err != nil {
		return err
	}
	writes := make([]store.Write, len(objects))
	for i, o := range objects {
		writes[i] = store.Write{Put: o}
	}
	dry := r.URL.Query().Get("dryRun") == "true"
	out := applied{DryRun: dry, Results: []result{}}
	var results []store.Result
	if dry {
		snapshot := s.Documents.Snapshot()
		_, results = store.Plan(snapshot, writes, time.Now())
		out.Revision = snapshot.Revision()
	} else {
		snapshot, done, err := s.Documents.Apply(r.Context(), writes)
		if err != nil {
			return err
		}
		results, out.Revision = done[:len(writes)], snapshot.Revision()
		warnings = append(warnings, inspect.Unsaid(warnings, s.dangling(r.Context(), results, applyPatience))...)
	}
	for _, x := range results {
		out.Results = append(out.Results, result{x.Ref.String(), x.Action})
	}
	for _, v := range warnings {
		out.Warnings = append(out.Warnings, inspect.ViolationOf(v))
	}
	answer(w, http.StatusOK, out)
	return nil
}

// meshesExist refuses objects of a mesh that neither exists nor comes along.
func (s *server) meshesExist(objects []*api.Object) error {
	coming := map[string]bool{}
	for _, o := range objects {
		if o.Kind == api.KindMesh {
			coming[o.Name] = true
		}
	}
	var found []*api.Violation
	for _, o := range objects {
		if o.Mesh != "" && !coming[o.Mesh] && s.meshExists(o.Mesh) != nil {
			v := api.Path("mesh").Breaks("there is no mesh %s; create it first, or in the same apply", o.Mesh)
			v.Object, v.Position = o.Ref, o.Source.Locate("mesh")
			found = append(found, v)
		}
	}
	if len(found) > 0 {
		return notValid(found)
	}
	return nil
}

// How long a write waits to learn what is odd about it: an apply, which is one
// step however large; and a single document, as long as there are few of them.
const (
	applyPatience = 2 * time.Second
	putPatience   = 250 * time.Millisecond
	manyWrites    = 32 // in a second: then nobody reads warnings, and steps should coalesce
)

// pace remembers when the last single writes came.
type pace struct {
	mu    sync.Mutex
	times [manyWrites]time.Time
	next  int
}

// storm notes a write and reports whether there are many of them.
func (p *pace) storm(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := p.times[p.next]
	p.times[p.next] = now
	p.next = (p.next + 1) % manyWrites
	return now.Sub(oldest) < time.Second
}

// dangling is what the world says about written objects: references that lead
// nowhere. It is worth a short wait, not a long one: status says it later too.
func (s *server) dangling(ctx context.Context, results []store.Result, patience time.Duration) []*api.Violation {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	model, err := s.Documents.Model(ctx)
	if err != nil {
		return nil
	}
	var out []*api.Violation
	places := inspect.PlacesIn(model.Snapshot())
	refs := make([]api.Ref, len(results))
	for i, r := range results {
		refs[i] = r.Ref
	}
	for _, n := range inspect.NotesOn(model, refs...) {
		if n.Severity != api.Info {
			out = append(out, &api.Violation{Position: places.Of(n), Object: n.Origin.Ref, Field: n.Field, Code: n.Code,
				Message: strings.TrimSpace(n.Message), Severity: api.Warning})
		}
	}
	return out
}
