package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/nearest"
)

// Catalog is the set of types that a program knows: the base types of Types,
// the kinds of policies, and the types of the route dialects.
type Catalog struct {
	types  []Type            // sorted by name
	routes []Type            // those of them that policies may target
	words  map[string]int    // name, plural and short name in lower case
	zone   map[string]string // labels that a control plane computes for objects of its zone; nil outside one
	system []string          // the system namespaces; nil: DefaultSystemNamespaces
	// validated marks documents that an API server has validated.
	validated bool
}

// NewCatalog knows types. Two types that answer to one word are a bug, and it panics.
func NewCatalog(types ...Type) *Catalog {
	c := &Catalog{types: slices.Clone(types), words: map[string]int{}}
	slices.SortFunc(c.types, func(a, b Type) int { return cmp.Compare(a.Name, b.Name) })
	for i, t := range c.types {
		own := map[string]bool{}
		for _, w := range []string{t.Name, t.Plural, t.Short} {
			own[strings.ToLower(w)] = w != ""
		}
		for w, named := range own {
			if _, taken := c.words[w]; taken && named {
				panic("two types are called " + w)
			}
			if named {
				c.words[w] = i
			}
		}
	}
	c.routes = slices.DeleteFunc(c.Types(), func(t Type) bool { return !t.Attach })
	return c
}

// Types are all types, sorted by name.
func (c *Catalog) Types() []Type { return slices.Clone(c.types) }

// Names are those of all types, sorted.
func (c *Catalog) Names() []string {
	names := make([]string, len(c.types))
	for i, t := range c.types {
		names[i] = t.Name
	}
	return names
}

// Routes are the types of routes that policies may target, sorted by name. They are not to be changed.
func (c *Catalog) Routes() []Type { return slices.Clip(c.routes) }

// Type finds a type by its exact name, as documents write it.
func (c *Catalog) Type(name string) (Type, bool) {
	i, ok := c.words[strings.ToLower(name)]
	if !ok || c.types[i].Name != name {
		return Type{}, false
	}
	return c.types[i], true
}

// Find finds a type by name, plural or short name in any case, as people type it.
func (c *Catalog) Find(word string) (Type, bool) {
	i, ok := c.words[strings.ToLower(word)]
	if !ok {
		return Type{}, false
	}
	return c.types[i], true
}

// ByPlural finds a type by its REST path.
func (c *Catalog) ByPlural(plural string) (Type, bool) {
	t, ok := c.Find(plural)
	return t, ok && t.Plural == plural
}

// Nearest are the names of the types that word may have meant, nearest first.
func (c *Catalog) Nearest(word string) []string {
	return nearest.To(word, c.Names(), 3)
}

// Validated is c for documents that come from an API server, which has validated them by
// schemas of its own: a newer Kubernetes has fields that weft lacks.
func (c *Catalog) Validated() *Catalog {
	out := *c
	out.validated = true
	return &out
}

// DefaultSystemNamespaces are those of a control plane that is told no others: weft's own,
// and that of Kuma, whose documents keep their role (spec/kubernetes.md).
var DefaultSystemNamespaces = []string{"weft-system", "kuma-system"}

// WithSystemNamespaces is c for a mesh whose operators write in these namespaces.
func (c *Catalog) WithSystemNamespaces(namespaces []string) *Catalog {
	out := *c
	out.system = append([]string{}, namespaces...)
	return &out
}

// System reports whether a namespace is one of those where the mesh's operators write.
func (c *Catalog) System(namespace string) bool {
	if c.system == nil {
		return slices.Contains(DefaultSystemNamespaces, namespace)
	}
	return slices.Contains(c.system, namespace)
}

// Validates reports whether documents of a type come from an API server that knows the
// type better than weft: it is not one of weft's own. What weft lacks of such a document is
// a warning, and nothing more, but for what is Narrowing.
func (c *Catalog) Validates(t *Type) bool {
	return c.validated && cmp.Or(t.Group, kumaGroup) != kumaGroup
}
