// Package convert translates routes from one language into another.
//
// The route model is between them: what the objects of a language mean together, as
// that language composes it, is printed by another, read back by it, and compared. What
// comes back otherwise is not in the output.
//
// It promises that what it prints takes no request that the same rule did not take
// before, and does with it what was done before; that rules which take a request first
// still do; and that all that is missing or different is named, with the place in the
// source at which it was said. A rule that cannot be said as a whole is left out as a
// whole: none takes more than was written.
//
// It refuses to guess who is to be served: a language for hosts and one for services
// meet only where the caller says which host stands for which service.
package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Options say into what is translated.
type Options struct {
	Catalog  *api.Catalog
	Dialects []route.Dialect
	// Kind is what is written: one that one of the dialects prints.
	Kind string
	// Host is the host by which the service is asked for, where the language has hosts
	// alone; empty where nobody says.
	Host string
	// Service is whose callers ask, where the language has services alone.
	Service api.TargetRef
	// Edge is the Gateway at which hosts are served, where the language says that.
	Edge api.Ref
}

// Result is what came of objects.
type Result struct {
	Objects []*api.Object
	// Notes are what is not as it was: what is left out is an error, what is different a
	// warning. Origin names the source.
	Notes []api.Note
}

// converter is one conversion.
type converter struct {
	Options
	target  *route.Dialect
	objects []*api.Object
	out     Result
	names   map[api.Ref]bool // those of documents that are there already
	taken   map[string]*work // who has a place
}

// Objects translates the routes among objects into the kind o.Kind, those of each mesh by
// themselves; other objects are only looked at. It panics where no dialect prints the kind.
func Objects(objects []*api.Object, o Options) Result {
	var out Result
	for _, c := range translate(objects, o) {
		out.Objects = append(out.Objects, c.out.Objects...)
		out.Notes = append(out.Notes, c.out.Notes...)
	}
	sortNotes(out.Notes)
	return out
}

// sortNotes puts notes in the order of what they are about.
func sortNotes(list []api.Note) {
	slices.SortStableFunc(list, func(a, b api.Note) int {
		return cmp.Or(a.Origin.Ref.Compare(b.Origin.Ref), cmp.Compare(a.Field, b.Field))
	})
}

// translate translates each mesh, with what is in none.
func translate(objects []*api.Object, o Options) []*converter {
	var meshes []string
	for _, x := range objects {
		if x.Mesh != "" && !slices.Contains(meshes, x.Mesh) {
			meshes = append(meshes, x.Mesh)
		}
	}
	var out []*converter
	for _, mesh := range meshes {
		elsewhere := func(x *api.Object) bool { return x.Mesh != "" && x.Mesh != mesh }
		c, tables := begin(slices.DeleteFunc(slices.Clone(objects), elsewhere), o)
		c.write(tables)
		out = append(out, c)
	}
	return out
}

// begin begins the conversion of objects of one mesh; the tables are to be written.
func begin(objects []*api.Object, o Options) (*converter, []*source) {
	c := converterOf(objects, o)
	for _, x := range objects {
		if x.Kind == o.Kind { // it is so already
			c.names[x.Ref] = true
			c.out.Objects = append(c.out.Objects, c.today(x))
		}
	}
	var tables []*source
	for i := range o.Dialects {
		tables = append(tables, c.tables(&o.Dialects[i])...)
	}
	return c, tables
}

// converterOf is a conversion of objects of one mesh. Names of the kind that is written are
// free: the caller says which are not.
func converterOf(objects []*api.Object, o Options) *converter {
	c := &converter{Options: o, objects: objects, names: map[api.Ref]bool{}, taken: map[string]*work{}}
	for _, x := range objects {
		if x.Kind != o.Kind {
			c.names[x.Ref] = true
		}
	}
	for i := range o.Dialects {
		if o.Dialects[i].Prints == o.Kind {
			c.target = &o.Dialects[i]
		}
	}
	if c.target == nil {
		panic("nobody prints " + o.Kind)
	}
	return c
}

// write writes tables, and says what is otherwise. Those that have no place are not among
// the works.
func (c *converter) write(tables []*source) (works []*work) {
	for _, t := range tables {
		if w := c.table(t); w != nil {
			works = append(works, w)
		}
	}
	all := c.read(c.target, c.Kind, slices.Concat(c.objects, c.out.Objects), false)
	for _, w := range works {
		w.fence(all)
	}
	for _, w := range works {
		w.finish()
	}
	c.tellPolicies(works)
	return works
}

// Current is a spec that may be written in an older form of its language.
type Current interface {
	// Today is the same in the form of today; false where it is so already.
	Today() (api.Spec, bool)
}

// today is an object in the form of today.
func (c *converter) today(o *api.Object) *api.Object {
	spec, ok := o.Spec.(Current)
	if !ok {
		return o
	}
	now, older := spec.Today()
	if !older {
		return o
	}
	out := *o
	out.Spec = now
	c.note(&api.Origin{Ref: o.Ref}, api.Info, "OlderForm", "", "the document is in an older form, and is written in that of today")
	return &out
}

func (c *converter) note(o *api.Origin, severity api.Severity, code string, at api.Path, format string, args ...any) {
	n := api.Note{Origin: o, Severity: severity, Code: code, Field: at, Message: fmt.Sprintf(format, args...)}
	same := func(x api.Note) bool {
		return x.Origin.Ref == o.Ref && x.Field == n.Field && x.Code == n.Code && x.Message == n.Message
	}
	if !slices.ContainsFunc(c.out.Notes, same) {
		c.out.Notes = append(c.out.Notes, n)
	}
}

// free is the first ref of the name of ref, then of NAME-2, NAME-3 and so on, that is in use
// nowhere; then it is.
func (c *converter) free(ref api.Ref) api.Ref {
	for n, name := 2, ref.Name; c.names[ref]; n++ {
		ref.Name = fmt.Sprintf("%s-%d", name, n)
	}
	c.names[ref] = true
	return ref
}
