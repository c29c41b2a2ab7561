package convert

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// invalid are the lines whose rules the language refuses, or what it refuses beside them.
func (w *work) invalid() (lost map[int]reason, whole *api.Violation) {
	lost = map[int]reason{}
	for _, o := range w.printed.Objects {
		if d, ok := o.Spec.(api.Defaulter); ok {
			d.Default()
		}
		found := api.Violations(o.Spec.Validate("spec"))
		if spec, ok := o.Spec.(api.ObjectValidator); ok {
			found = append(found, api.Violations(spec.ValidateObject(o, w.Catalog, "spec"))...)
		}
		for _, v := range found {
			if v.Severity != api.Error {
				continue
			}
			if !w.mark(lost, o.Ref, v.Field, v.Message) {
				return nil, v
			}
		}
	}
	return lost, nil
}

// noun is the kind that is written, in words.
func (w *work) noun() string {
	if strings.HasPrefix(w.Kind, "H") {
		return "an " + w.Kind
	}
	return "a " + w.Kind
}

// mark takes down that the language refuses the rule of an object at a field, of whichever
// lines that has come; it reports whether there is one.
func (w *work) mark(lost map[int]reason, ref api.Ref, field api.Path, message string) (found bool) {
	for place, lines := range w.printed.From {
		if place.Ref != ref || !field.Within(place.Field) {
			continue
		}
		found = true
		for _, l := range lines {
			lost[l] = reason{"Invalid", w.noun() + " cannot say it: " + message}
		}
	}
	return found
}

// refusedBack are the lines of whose rules their language says that they are wrong.
func (w *work) refusedBack(notes []api.Note) map[int]reason {
	lost := map[int]reason{}
	for _, n := range notes {
		if n.Severity == api.Error {
			w.mark(lost, n.Origin.Ref, n.Field, n.Message)
		}
	}
	return lost
}

// compare reads the documents back.
func (w *work) compare() (again bool) {
	objects := slices.Concat(w.converter.objects, w.out.Objects, w.printed.Objects)
	read := w.read(w.target, w.Kind, objects, false)
	if lost := w.refusedBack(read.notes); len(lost) > 0 {
		return w.lose(lost)
	}
	w.founds = nil
	for _, to := range w.places() {
		w.look(to, read)
		switch {
		case w.found.takes != nil:
			w.say(-1, api.Error, route.UnsaidPlace, "%s: other routes are there that would take requests first (%s %s); convert them together, or change them", w.where(), w.found.takes.FullName(), w.found.takes.Field)
			w.printed = nil
			return false
		case len(w.found.lost) > 0:
			lost := map[int]reason{}
			for l, why := range w.found.lost {
				lost[l] = reason{route.UnsaidMatch, "in " + w.Kind + " " + why}
			}
			return w.lose(lost)
		case w.move():
			return true
		case w.close(to):
			return true
		}
	}
	return w.settle()
}

// look compares what is read back at a place.
func (w *work) look(to api.TargetRef, read *said) {
	f := frontendOf(to)
	f.TLS = w.TLS
	w.found = check(&w.Table, w.printed, f.Port, w.target.Compose(f, read.of(to)))
	w.founds = append(w.founds, w.found)
}

// places are where the table is, as what is read back calls them.
func (w *work) places() []api.TargetRef {
	var out []api.TargetRef
	for _, to := range w.To {
		out = append(out, to.InMesh())
	}
	return out
}
