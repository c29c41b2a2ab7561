// Package matcher answers every question of the form 'does X select Y?'.
//
// Its functions are pure and total: a ref that may not stand where it is asked
// about selects nothing. Which of several selected things wins is not its
// business, but resolve's.
package matcher

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
)

// Dataplane is what a selector may ask about a dataplane, read once.
type Dataplane struct {
	Name      string
	Namespace string
	Labels    api.Labels
	Gateway   bool
	Edge      bool // it serves clients from outside the mesh
	// Tags has one entry an inbound, or one for a gateway.
	Tags []map[string]string
}

// DataplaneOf reads the facts of a Dataplane object of a control plane that
// computes the labels of zone.
func DataplaneOf(o *api.Object, zone map[string]string) Dataplane {
	d := Dataplane{Name: o.Name, Namespace: o.HomeNamespace(), Labels: api.LabelsOf(o, zone)}
	spec, ok := o.Spec.(*api.Dataplane)
	if !ok || spec.Networking == nil {
		return d
	}
	if g := spec.Networking.Gateway; g != nil {
		d.Gateway, d.Edge = true, spec.Networking.Edge()
		d.Tags = append(d.Tags, g.Tags)
	}
	for _, in := range spec.Networking.Inbound {
		d.Tags = append(d.Tags, in.Tags)
	}
	return d
}

// Selector is a top-level targetRef together with where its object lives: it
// selects dataplanes. Two selectors with equal Key select the same.
type Selector struct {
	Key string // empty for the selector of everything
	ref api.TargetRef
	// zone and namespace narrow the ref to the home of its object (spec/kuma.md 4.1).
	zone, namespace string
	edges           api.Edges
	alone           bool
}

// Local says how an object's home narrows its selector.
type Local struct {
	Zone      string // only dataplanes of that zone
	Namespace string // only dataplanes of that namespace
	// Edges are the only ones of all edge dataplanes, unless it is zero.
	Edges api.Edges
	// Alone leaves out those that are no edge dataplanes, where there are Edges.
	Alone bool
}

// SelectorOf is the selector of a top-level ref that names no route.
func SelectorOf(ref api.TargetRef, local Local) *Selector {
	s := &Selector{ref: ref, zone: local.Zone, namespace: local.Namespace, edges: local.Edges, alone: local.Alone}
	if ref.Kind == api.KindDataplane {
		s.ref.SectionName = "" // it narrows inbounds, not dataplanes
	}
	s.Key = s.key()
	return s
}

func (s *Selector) key() string {
	r := s.ref
	if r.Kind == api.KindDataplane && r.Name == "" && len(r.Labels) == 0 || r.Kind == api.KindMesh {
		r.Kind = ""
	}
	parts := []string{r.Kind, r.Name, r.Namespace, text(r.Labels), text(r.Tags), proxies(r.ProxyTypes), s.zone, s.namespace, s.edges.Namespace, s.edges.Label, s.edges.Value}
	if strings.Join(parts, "") == "" {
		return ""
	}
	if s.alone {
		parts = append(parts, "alone")
	}
	return tuple.Join(parts...)
}

func proxies(types []string) string {
	if len(types) == 0 || slices.Contains(types, "Sidecar") && slices.Contains(types, "Gateway") {
		return ""
	}
	return types[0]
}

// text is one string for equal maps.
func text(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	pairs := make([]string, 0, 2*len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, k, m[k])
	}
	return tuple.Join(pairs...)
}

// Everyone reports whether it selects all clients of a zone: no dataplane is left out but those of
// other zones, and edge dataplanes at which its object does not listen.
func (s *Selector) Everyone(zone string) bool {
	all := *s
	if all.zone == zone {
		all.zone = ""
	}
	if !all.alone {
		all.edges = api.Edges{}
	}
	return all.key() == ""
}

// Selects reports whether the selector selects d as a whole or one of its inbounds.
func (s *Selector) Selects(d *Dataplane) bool {
	if s.Key == "" {
		return true
	}
	if !s.near(d) {
		return false
	}
	switch s.ref.Kind {
	case api.KindMesh:
		return true
	case api.KindDataplane:
		return s.dataplane(d)
	case api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset:
		return slices.ContainsFunc(d.Tags, s.tags)
	}
	return false
}

// SelectsInbound reports whether the selector selects the inbound with these
// tags; section narrows it to a name where the ref has one.
func (s *Selector) SelectsInbound(d *Dataplane, tags map[string]string) bool {
	switch s.ref.Kind {
	case api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset:
		return s.near(d) && s.tags(tags)
	}
	return s.Selects(d)
}

func (s *Selector) near(d *Dataplane) bool {
	if s.zone != "" && d.Labels.Written[api.LabelOrigin] != "" && d.Labels.Written[api.LabelZone] != s.zone {
		return false
	}
	if s.namespace != "" && d.Namespace != s.namespace || s.edges != (api.Edges{}) && (d.Edge || s.alone) && !d.Among(s.edges) {
		return false
	}
	if s.ref.Kind == api.KindMeshService && s.ref.Namespace != "" && d.Namespace != s.ref.Namespace {
		return false
	}
	switch proxies(s.ref.ProxyTypes) {
	case "Sidecar":
		return !d.Gateway
	case "Gateway":
		return d.Gateway
	}
	return true
}

func (s *Selector) dataplane(d *Dataplane) bool {
	if s.ref.Name != "" {
		return (s.ref.Name == d.Name || s.ref.Name == d.Display()) && (s.ref.Namespace == "" || s.ref.Namespace == d.Namespace)
	}
	return d.Labels.Carry(s.ref.Labels)
}

func (s *Selector) tags(have map[string]string) bool {
	if s.ref.Kind != api.KindMeshSubset && (s.ref.Name == "" || have[api.TagService] != s.ref.Name) {
		return false
	}
	return Tags(s.ref.Tags, have)
}

// Tags reports whether have holds every wanted tag.
func Tags(want, have map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// Among reports whether d is one of the edge dataplanes.
func (d *Dataplane) Among(e api.Edges) bool {
	value, carried := d.Labels.Get(e.Label)
	return d.Edge && carried && value == e.Value && d.Namespace == e.Namespace
}

// Display is the name that people know the dataplane by.
func (d *Dataplane) Display() string { return displayOf(&d.Labels) }

func displayOf(l *api.Labels) string {
	name, _ := l.Get(api.LabelDisplayName)
	return name
}
