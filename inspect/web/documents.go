package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store"
)

// there is what there is of a kind: Dataplanes with those of pods, which follow from what
// is written, and of all else what is written.
func (s *server) there(ctx context.Context, kind string) *api.Snapshot {
	if kind == api.KindDataplane {
		if m, err := s.Documents.Model(ctx); err == nil {
			return m.Snapshot()
		}
	}
	return s.Documents.Snapshot()
}

// typeAt is the type that the path names, which must fit its place: in a mesh
// or outside.
func (s *server) typeAt(r *http.Request) (api.Type, error) {
	t, ok := s.Catalog.ByPlural(r.PathValue("plural"))
	if !ok || t.Global != (r.PathValue("mesh") == "") {
		return t, s.withoutType(r)
	}
	return t, nil
}

// refAt is the object that the path names.
func (s *server) refAt(r *http.Request) (api.Ref, error) {
	t, err := s.typeAt(r)
	return s.refOf(r, t.Name), err
}

// refOf is the object of that kind that the path names. An object with a
// namespace answers to ?namespace= and to <name>.<namespace>, its name in Kuma.
func (s *server) refOf(r *http.Request, kind string) api.Ref {
	ref := api.Ref{Kind: kind, Mesh: r.PathValue("mesh"), Namespace: r.URL.Query().Get("namespace"), Name: r.PathValue("name")}
	return ref.Resolve(s.there(r.Context(), kind).Has)
}

func (s *server) get(w http.ResponseWriter, r *http.Request) error {
	ref, err := s.refAt(r)
	if err != nil {
		return err
	}
	return s.show(w, r, ref)
}

func (s *server) getMesh(w http.ResponseWriter, r *http.Request) error {
	return s.show(w, r, api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
}

// show answers with one object and its conditions.
func (s *server) show(w http.ResponseWriter, r *http.Request, ref api.Ref) error {
	o, ok := s.there(r.Context(), ref.Kind).Get(ref)
	if !ok {
		return httpapi.NotFound()
	}
	w.Header().Set("ETag", httpapi.ETag(o))
	switch format := r.URL.Query().Get("format"); format {
	case "", "universal":
	case "written":
		text, err := s.written(r, o)
		if err != nil {
			return err
		}
		httpapi.Write(w, http.StatusOK, "application/json", text)
		return nil
	case "kubernetes", "k8s":
		o, err := s.shown(r.Context(), o)
		if err != nil {
			return err
		}
		text, err := decode.PrintKubernetes(s.Catalog, o)
		if err != nil {
			return err
		}
		httpapi.Write(w, http.StatusOK, "application/json", text)
		return nil
	default:
		return httpapi.BadField("format", "unknown format; use universal, kubernetes or written")
	}
	conditions, err := s.conditionsOf(r.Context(), o)
	if err != nil {
		return err
	}
	text, err := s.item(r.Context(), o, conditions)
	if err != nil {
		return err
	}
	httpapi.Write(w, http.StatusOK, "application/json", text)
	return nil
}

func (s *server) byKRI(w http.ResponseWriter, r *http.Request) error {
	kri, err := s.Catalog.ParseKRI(r.PathValue("kri"))
	if err != nil {
		return httpapi.BadField("kri", err.Error())
	}
	o, ok := s.find(r.Context(), kri)
	if !ok {
		return httpapi.NotFound()
	}
	return s.show(w, r, o.Ref)
}

// find is the object that a KRI names.
func (s *server) find(ctx context.Context, kri api.KRI) (*api.Object, bool) {
	t, _ := s.Catalog.Find(kri.Short)
	kri.Section = ""
	want := kri.String()
	snapshot := s.there(ctx, t.Name)
	if o, ok := snapshot.Get(api.Ref{Kind: t.Name, Mesh: kri.Mesh, Namespace: kri.Namespace, Name: kri.Name}); ok && s.Catalog.KRI(o) == want {
		return o, true
	}
	for o := range snapshot.Of(t.Name, kri.Mesh) {
		if s.Catalog.KRI(o) == want {
			return o, true
		}
	}
	return nil, false
}

func (s *server) put(w http.ResponseWriter, r *http.Request) error {
	ref, err := s.refAt(r)
	if err != nil {
		return err
	}
	return s.write(w, r, ref)
}

func (s *server) putMesh(w http.ResponseWriter, r *http.Request) error {
	return s.write(w, r, api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
}

// write creates or replaces one object from the request's body.
func (s *server) write(w http.ResponseWriter, r *http.Request, ref api.Ref) error {
	body, err := httpapi.Body(w, r, maxDocument)
	if err != nil {
		return err
	}
	if ref.Kind == api.KindMesh {
		body = s.keptTenancy(r, ref, body)
	}
	o, err := decode.One(s.Catalog, "", body, ref)
	if errors.Is(err, decode.ErrNoDocuments) {
		return httpapi.BadField("", "the body is empty; send the document")
	}
	b := batch{server: s, found: api.Violations(err)}
	if o == nil {
		b.refused = []*api.Object{{Ref: ref}}
	} else {
		b.objects = []*api.Object{o}
	}
	done, err := s.commit(r.Context(), under(r, ref, b.asked))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if done.results[0].Action == store.Created {
		status = http.StatusCreated
	}
	warnings := done.told
	model := s.covering(r.Context())
	warnings = append(warnings, notes.Unreported(warnings, s.dangling(model, b.objects))...)
	warnings = append(warnings, s.plaintextClients(model, b.objects)...)
	if now, ok := done.snapshot.Get(ref); ok {
		w.Header().Set("ETag", httpapi.ETag(now))
	}
	httpapi.Answer(w, status, warned(warnings))
	return nil
}

func (s *server) delete(w http.ResponseWriter, r *http.Request) error {
	ref, err := s.refAt(r)
	if err != nil {
		return err
	}
	return s.remove(w, r, ref, func(now *api.Snapshot) (admission.Asked, error) { return admission.Removal(now, ref) })
}

// remove deletes ref, which is the first write that is asked for.
func (s *server) remove(w http.ResponseWriter, r *http.Request, ref api.Ref, ask asking) error {
	dry, err := flag(r.URL.Query(), "dryRun")
	if dry || err != nil {
		return s.wouldRemove(w, r, under(r, ref, ask), err)
	}
	if _, err := wantsFields(r.URL.Query(), dry); err != nil {
		return err
	}
	done, err := s.commit(r.Context(), under(r, ref, ask))
	if err != nil {
		return err
	}
	if done.results[0].Action == store.Missing {
		return httpapi.NotFound()
	}
	httpapi.Answer(w, http.StatusOK, removed{})
	return nil
}

// deleteMesh deletes a mesh with its documents, but not under the feet of sidecars.
func (s *server) deleteMesh(w http.ResponseWriter, r *http.Request) error {
	mesh := api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")}
	for o := range s.there(r.Context(), api.KindDataplane).Of(api.KindDataplane, mesh.Name) {
		return httpapi.Conflict(admission.HasDataplanes(o))
	}
	return s.remove(w, r, mesh, func(now *api.Snapshot) (admission.Asked, error) { return admission.Removal(now, mesh) })
}

// removed is the body of a successful DELETE.
type removed struct{}

// accepted is the body of a successful PUT.
type accepted struct {
	Warnings []string `json:"warnings,omitempty"`
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
