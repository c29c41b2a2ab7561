package decode

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// Text is the text of one file, which may have no name.
type Text struct {
	File string
	Text []byte
}

// Objects is All for one text.
func Objects(c *api.Catalog, file string, text []byte) ([]*api.Object, error) {
	objects, _, err := All(c, Text{file, text})
	return objects, err
}

// All reads every document of some texts, YAML or JSON, in Kuma's own
// envelope or in that of Kubernetes, and validates it. It returns the objects
// that have no error, and all that is wrong as a *multierror.Error of
// *Violation: with file, line and column, object and field. Violations of
// severity Warning do not hold their object back. ErrNoDocuments says that
// there was nothing.
//
// Refused are the objects with errors, as far as they could be read, for what
// else there is to say about them.
//
// Created and Modified are those of the text; whoever stores the object decides them.
func All(c *api.Catalog, texts ...Text) (objects, refused []*api.Object, err error) {
	return Within(Bounds{Mistakes: math.MaxInt}, c, texts...)
}

// AtMost is All, but that it reads no further once there are more than most mistakes, and
// says so: what is said of mistakes takes many times their room.
func AtMost(most int, c *api.Catalog, texts ...Text) (objects, refused []*api.Object, err error) {
	return Within(Bounds{Mistakes: most}, c, texts...)
}

// One reads a text that must hold the one object want: what a client
// puts at want's address. A type, mesh or name that differs is a violation.
func One(c *api.Catalog, file string, text []byte, want api.Ref) (*api.Object, error) {
	var d *syntax.Document
	for doc, broken := range syntax.Documents(file, text) {
		switch {
		case broken != nil:
			return nil, asError([]*api.Violation{broken})
		case d != nil:
			return nil, asError([]*api.Violation{syntax.Invalid(file, doc.PositionOf(doc.Root).Line, "there is more than one document; send them one by one")})
		}
		d = doc
	}
	if d == nil {
		return nil, syntax.ErrNoDocuments
	}
	o, errs := object(c, d, want)
	if o == nil {
		return nil, asError(errs)
	}
	differs := func(at api.Path, what, got, asked string) {
		if got != asked {
			v := at.Breaks("the %s is %q but the address says %q; make them equal", what, got, asked)
			v.Object, v.Position = want, d.Locate(at)
			errs = append(errs, v)
		}
	}
	if o.Namespace == want.Namespace && o.Name == want.FullName() {
		o.Name = want.Name // what readers see as its name
	}
	differs("type", "type", o.Kind, want.Kind)
	differs("mesh", "mesh", o.Mesh, want.Mesh)
	differs("name", "name", o.Name, want.Name)
	if want.Namespace != "" {
		differs("namespace", "namespace", o.Namespace, want.Namespace)
	}
	if api.Refuses(asError(errs)) {
		return nil, asError(errs)
	}
	return o, asError(errs)
}

// object decodes and validates one document; nil where its kind is unknown. A
// document that leaves them out gets the mesh, and the name, of like.
func object(c *api.Catalog, doc *syntax.Document, like api.Ref) (*api.Object, []*api.Violation) {
	d := &decoder{Document: doc}
	h, ok := d.envelope(c)
	if !ok {
		return nil, d.errs
	}
	o := &h.object
	if !h.typ.Global && o.Mesh == "" {
		o.Mesh = like.Mesh
	}
	if o.Name == "" {
		o.Name = like.Name
	}
	d.ref = o.Ref
	o.Source = doc.Source
	o.Spec = h.typ.New()
	d.structure(&h)
	for _, v := range d.errs {
		v.Object = o.Ref
	}
	if s, ok := o.Spec.(api.Defaulter); ok {
		s.Default()
	}
	o.InSystemNamespace = c.System(o.HomeNamespace())
	d.semantics(&h, c)
	if !h.typ.Secret && !h.typ.Cluster {
		d.keys(h.spec.node, h.at)
	}
	slices.SortStableFunc(d.errs, func(a, b *api.Violation) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if h.typ.Secret {
		o.Source.Text, o.Source.Item = nil, ""
	}
	if m, ok := o.Spec.(*api.MeshSecret); ok {
		o.Spec = m.Secret()
	}
	kept := *o // h holds the document's nodes, which nobody needs any more
	return &kept, d.errs
}

// structure reads the spec and the status.
func (d *decoder) structure(h *head) {
	if h.spec.IsSet() {
		d.warns, d.silent, d.narrow = h.typ.Tolerant || d.valid, h.typ.Cluster, h.typ.Narrowing
		if h.typ.Custom != nil {
			d.items, d.length = h.typ.Bounds()
		}
		d.value(h.spec.node, h.spec.mark, h.at, reflect.ValueOf(h.object.Spec).Elem())
		d.warns, d.silent, d.items = false, false, 0
	}
	if h.status.IsSet() && h.typ.NewStatus != nil {
		h.object.Status = h.typ.NewStatus()
		d.lenient = true
		d.value(h.status.node, h.status.mark, "status", reflect.ValueOf(h.object.Status).Elem())
		d.lenient = false
	}
}

// semantics validates what was read. What the structure got wrong is not
// there to be validated, so what is said of it or of its parents is left out.
func (d *decoder) semantics(h *head, c *api.Catalog) {
	var broken []api.Path
	for _, v := range d.errs {
		if v.Severity == api.Error {
			broken = append(broken, v.Field)
		}
	}
	found := append(validateHead(h), api.Violations(h.object.Spec.Validate(h.at))...)
	if spec, ok := h.object.Spec.(api.ObjectValidator); ok {
		found = append(found, api.Violations(spec.ValidateObject(&h.object, c, h.at))...)
	}
	for _, v := range found {
		if !touches(v.Field, broken) {
			d.report(d.locateNode(v.Field), v)
		}
	}
}

// touches reports whether at lies above, in or below one of paths.
func touches(at api.Path, paths []api.Path) bool {
	for _, p := range paths {
		if at.Within(p) || p.Within(at) {
			return true
		}
	}
	return false
}

// asError is all violations as one error, nil where there are none.
func asError(found []*api.Violation) error {
	if len(found) == 0 {
		return nil
	}
	out := &multierror.Error{Errors: make([]error, len(found))}
	for i, v := range found {
		out.Errors[i] = v
	}
	return out
}
