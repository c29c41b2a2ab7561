// Package merge folds many opinions about one target into one answer.
//
// A fold is pure and total: layers in, a list of fields and who said what out.
// It knows neither policies nor Envoy, and it never decides an order: the
// caller hands it layers weakest first.
package merge

import "github.com/weftmesh/weft/api"

// Leaf is one value that a document gives: a scalar, a list or an object that
// is replaced as a whole. The value is immutable and of the type that the
// conf's field has.
type Leaf struct {
	Field int // the field's number in its schema
	Value any
}

// Layer is what one origin says. Leaves are sorted by field, each field once.
type Layer struct {
	Name     LayerName
	Override bool // given over everything that is nearer to the route, not under it
	Origin   *api.Origin
	Leaves   []Leaf
	// Rank is where the caller's order put the layer; nil is below all others.
	Place Rank
}

// LayerName says from how near to the route a value comes.
type LayerName uint8

// The layers, weakest first (spec/kuma.md 4.9). Mesh, Service and Port only
// label what an item targets; among themselves spec/kuma.md 4.3 decides.
const (
	Default LayerName = iota
	Mesh
	Service
	Port
	Host
	Include
	Inline
	Route
	Rule
)

var layerNames = [...]string{"default", "mesh", "service", "port", "host", "include", "inline", "route", "rule"}

// String is the name as explanations print it.
func (n LayerName) String() string { return layerNames[n] }

// Said is one opinion about a field.
type Said struct {
	Value    any
	Origin   *api.Origin
	Layer    LayerName
	Override bool
	// Lost is the key of the order that decided against it, NotLost where it holds.
	Lost Criterion
	// Order counts the layers below it that say anything, about whichever field: of two opinions of
	// one fold the one with the greater Order is stronger, also where they share no field.
	Order uint32
}

// Field is the answer for one field: everything that was said, weakest first;
// the last one holds, the others are shadowed by it.
type Field struct {
	Field int
	Said  []Said
	// Joined is the value of a list to which opinions add (Join); nil where the last one holds.
	Joined *Joined
}

// Joined is a list to which opinions add, and who said each of its elements.
type Joined struct {
	Value    any
	Elements []Element
}

// Element is one element of a joined list.
type Element struct {
	Value any
	By    []ElementOrigin // weakest first
}

// ElementOrigin is where an element stands: in the list of an opinion.
type ElementOrigin struct {
	Said  int // the opinion, in Field.Said
	Index int // in its list
}

// Value is the value that holds.
func (f Field) Value() any {
	if f.Joined != nil {
		return f.Joined.Value
	}
	return f.Said[len(f.Said)-1].Value
}

// Winner is who said it.
func (f Field) Winner() Said { return f.Said[len(f.Said)-1] }

// Fold lays each layer over those before it; the weakest comes first. A field
// that a layer does not name keeps what the weaker layers say. The answer is
// sorted by field.
func Fold(layers []Layer) []Field {
	width, total := 0, 0
	for _, l := range layers {
		if n := len(l.Leaves); n > 0 {
			width = max(width, l.Leaves[n-1].Field+1)
			total += n
		}
	}
	if total == 0 {
		return nil
	}
	counts := make([]int, width)
	holds := make([]int, width) // the strongest layer of each field
	for i, l := range layers {
		for _, leaf := range l.Leaves {
			counts[leaf.Field]++
			holds[leaf.Field] = i
		}
	}
	said := make([]Said, total) // one allocation for all fields
	slots := make([][]Said, width)
	at := 0
	for field, n := range counts {
		slots[field] = said[at : at : at+n]
		at += n
	}
	below := uint32(0)
	for i, l := range layers {
		if i > 0 && len(layers[i-1].Leaves) > 0 {
			below++
		}
		for _, leaf := range l.Leaves {
			said := Said{Value: leaf.Value, Origin: l.Origin, Layer: l.Name, Override: l.Override, Order: below}
			if w := holds[leaf.Field]; w != i {
				said.Lost = l.lost(&layers[w])
			}
			slots[leaf.Field] = append(slots[leaf.Field], said)
		}
	}
	fields := make([]Field, 0, min(width, total))
	for field, s := range slots {
		if len(s) > 0 {
			fields = append(fields, Field{Field: field, Said: s})
		}
	}
	return fields
}

// ListForm is how values of a field are lists.
type ListForm interface {
	Split(value any) []any
	Equal(a, b any) bool
	Build(elements []any) any
}

// Join makes of a field a list to which all opinions add, weakest first: equal elements are there once,
// in the place of the first, and keep all who say them. The strongest override replaces what all others
// say, and what is built in holds where nobody says anything.
func (f *Field) Join(of ListForm) {
	joined := &Joined{}
	for i := f.from(); i < len(f.Said); i++ {
		s := &f.Said[i]
		s.Lost = NotLost
		for n, v := range of.Split(s.Value) {
			joined.add(of, v, ElementOrigin{i, n})
		}
	}
	values := make([]any, len(joined.Elements))
	for i := range joined.Elements {
		values[i] = joined.Elements[i].Value
	}
	joined.Value = of.Build(values)
	f.Joined = joined
}

// from is the first opinion that adds to a joined list.
func (f *Field) from() int {
	last := len(f.Said) - 1
	if f.Said[last].Override {
		return last
	}
	from := 0
	for from < last && f.Said[from].Layer == Default {
		from++
	}
	return from
}

func (j *Joined) add(of ListForm, v any, by ElementOrigin) {
	for i := range j.Elements {
		if e := &j.Elements[i]; of.Equal(e.Value, v) {
			e.By = append(e.By, by)
			return
		}
	}
	j.Elements = append(j.Elements, Element{v, []ElementOrigin{by}})
}

// Gather lets everything hold that layers say: nothing replaces anything. The answer is
// sorted by field, and what is said of one stands in the order of the layers.
func Gather(layers []Layer) []Field {
	fields := Fold(layers)
	for _, f := range fields {
		for i := range f.Said {
			f.Said[i].Lost = NotLost
		}
	}
	return fields
}
