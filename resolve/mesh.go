package resolve

import (
	"iter"
	"strings"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/route"
)

// mesh is the part of a Model that is about one mesh. All its trees are
// persistent: the next revision shares what did not change, and two revisions
// may be derived from one.
type mesh struct {
	name    string
	mode    string                // meshServices.mode
	zone    map[string]string     // labels that the control plane computes
	objects *iradix.Tree[any]     // *policy, *routeObject, *service, *dataplane by objectKey
	links   *iradix.Tree[string]  // relation, target, object -> objectKey: who speaks of whom
	dests   *iradix.Tree[*dest]   // by destination id
	planes  *iradix.Tree[*planed] // by objectKey of the Dataplane
	roster  roster                // of the dataplanes: what they call and carry
	// asker is the question that looks at the mesh; nil in a Model.
	asker *Reader
}

// planed is a dataplane with what applies to it.
type planed struct {
	plane    *dataplane
	resolved *Resolved
	calls    []call
	behind   []*dest // the destinations of resolved.Clusters, one by one
}

// dataplane is one Dataplane object, read once.
type dataplane struct {
	object *api.Object
	spec   *api.Dataplane
	facts  matcher.Dataplane
	number uint32 // in mesh.roster
}

func newMesh(name string) *mesh {
	return &mesh{name: name, objects: iradix.New[any](), links: iradix.New[string](), dests: iradix.New[*dest](), planes: iradix.New[*planed](), roster: newRoster()}
}

// objectKey names an object inside its mesh.
func objectKey(r api.Ref) string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// The relations of mesh.links; those of dataplanes are in mesh.roster. Where a target is chosen by labels rather than
// by a name, the link stands under anyTarget.
const (
	attachesTo = "attaches-to" // policy -> name of a route object
	speaksOf   = "speaks-of"   // policy -> service name
	routes     = "routes"      // route object -> service name
	sendsTo    = "sends-to"    // route object -> service name of a backend
	reads      = "reads"       // route object -> key of an object, or any of its kind
	limits     = "limits"      // policy with an inbound side
	gathers    = "gathers"     // service -> label or tag that its selector wants
	named      = "named"       // destination -> service name
	multiZone  = "multi-zone"  // MeshMultiZoneService
	anyTarget  = "\x01"        // no service has this name
)

func linkKey(relation, target, from string) []byte {
	return []byte(relation + "\x00" + target + "\x00" + from)
}

// visit counts a value that the question looks at, if there is one; false when
// nobody waits for the answer.
func (m *mesh) visit() bool { return m.asker == nil || m.asker.visit() }

// linked yields the keys of what stands in relation to target.
func (m *mesh) linked(relation, target string) iter.Seq[string] {
	return func(yield func(string) bool) {
		it := m.links.Root().Iterator()
		it.SeekPrefix([]byte(relation + "\x00" + target + "\x00"))
		for _, v, ok := it.Next(); ok; _, v, ok = it.Next() {
			if !m.visit() || !yield(v) {
				return
			}
		}
	}
}

// linkedObjects yields the objects of one type that stand in relation to one of
// the targets, or to targets chosen by labels; each once.
func linkedObjects[T any](m *mesh, relation string, targets ...string) iter.Seq[T] {
	return func(yield func(T) bool) {
		seen := map[string]bool{}
		for _, target := range append(targets, anyTarget) {
			for key := range m.linked(relation, target) {
				if seen[key] {
					continue
				}
				seen[key] = true
				if o, ok := m.objects.Get([]byte(key)); ok && !yield(o.(T)) {
					return
				}
			}
		}
	}
}

// dest is the destination with that id; nil where there is none, as in no mesh.
func (m *mesh) dest(id string) *dest {
	if m == nil {
		return nil
	}
	d, _ := m.dests.Get([]byte(id))
	return d
}

// destsNamed yields the destinations that a ref by that name may mean, all of
// them where name is anyTarget.
func (m *mesh) destsNamed(name string) iter.Seq[*dest] {
	return func(yield func(*dest) bool) {
		if name == anyTarget {
			it := m.dests.Root().Iterator()
			for _, d, ok := it.Next(); ok; _, d, ok = it.Next() {
				if !m.visit() || !yield(d) {
					return
				}
			}
			return
		}
		for id := range m.linked(named, name) {
			if d, ok := m.dests.Get([]byte(id)); ok && !yield(d) {
				return
			}
		}
	}
}

// destsOf yields the destinations that an entry of a route may mean.
func (m *mesh) destsOf(e *route.Entry) iter.Seq[*dest] {
	if e.To.Kind == "" {
		return func(func(*dest) bool) {}
	}
	return m.destsNamed(targetName(e.To))
}

// targetName is under which name a ref to a destination is linked.
func targetName(ref api.TargetRef) string {
	if ref.Name == "" {
		return anyTarget
	}
	return ref.Name
}

// routeTarget is under which name a ref to a route object is linked.
func routeTarget(ref api.TargetRef) string {
	if ref.Name == "" {
		return ref.Kind + "/" + anyTarget
	}
	return ref.Kind + "/" + ref.Name
}

// pair is one label or tag as a link target.
func pair(k, v string) string { return k + "\x02" + strings.ReplaceAll(v, "\x00", "") }

func (p *planed) value() *Resolved {
	if p == nil {
		return nil
	}
	return p.resolved
}

func cmpRef(a, b *planed) api.Ref {
	if b != nil {
		return b.resolved.Ref
	}
	return a.resolved.Ref
}
