package resolve

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/route"
)

// backend resolves a ref of a route object. One that leads nowhere stays, with
// the reason, so that its share can be answered honestly (spec/kuma.md 2.3).
func (b *tableBuilder) backend(ref route.BackendRef, by *routeObject) Backend {
	out := Backend{Kind: ref.Target.Kind, Name: ref.Target.Name, Namespace: ref.Target.Namespace,
		Tags: ref.Target.Tags, Port: ref.Port, Weight: ref.Weight}
	d, lost := findBackend(b.mesh, ref.Target, ref.Port, by.object.HomeNamespace())
	if lost == nil && !d.Protocol.HTTPLike() {
		lost = wrongProtocol(d)
	}
	if lost != nil {
		out.Broken = lost.message
		return out
	}
	if out.Kind == api.KindMeshServiceSubset {
		out.Kind = api.KindMeshService
	}
	out.Name, out.Namespace, out.Port = d.Name, d.Namespace, d.Port
	out.Cluster = clusterName(d.ID, out.Tags)
	b.use(d.ID, out.Tags)
	return out
}

// lostRef is why a ref leads nowhere. It depends on what the ref may mean alone,
// so that a route stays as it is when something else comes or goes.
type lostRef struct {
	code, message string
	absent        *api.TargetRef // nothing has the name: others may be near
}

// text is the reason for people, with the names that the writer may have meant.
func (l *lostRef) text(m *mesh) string {
	if l.absent == nil {
		return l.message
	}
	return l.message + suggestion(m, *l.absent)
}

func wrongProtocol(d *dest) *lostRef {
	return lost("UnsupportedProtocol", "%s speaks %s; requests can only be routed to http, http2 or grpc", d.ID, d.Protocol)
}

func lost(code, format string, args ...any) *lostRef {
	return &lostRef{code: code, message: fmt.Sprintf(format, args...)}
}

// findBackend finds what a backendRef means, written in an object of namespace
// home. Without a port a name is the classic service in mode Disabled and where
// no object has the name, else the object if it has one port (contract 9). A
// subset, which has no port, is of the classic service where there is one.
func findBackend(m *mesh, ref api.TargetRef, port uint32, home string) (*dest, *lostRef) {
	subset := ref.Kind == api.KindMeshServiceSubset
	if subset {
		ref.Kind = api.KindMeshService
	}
	section := ref.SectionName
	ref.SectionName = ""
	var classic, oldest *dest
	ports, real := 0, false
	for d := range m.destsNamed(targetName(ref)) {
		if !matcher.Destination(ref, home, &d.facts) {
			continue
		}
		if d.facts.Classic {
			classic = d
			continue
		}
		real = true
		if port != 0 && d.Port != port && !isKubeName(ref.Name) || section != "" && section != d.PortName {
			continue
		}
		if oldest == nil || d.Ref != oldest.Ref && older(d, oldest) {
			oldest, ports = d, 0
		}
		if d.Ref == oldest.Ref {
			ports++
		}
	}
	if port == 0 && section == "" && classic != nil && (subset || m.mode == disabled || !real) {
		return classic, nil
	}
	switch {
	case oldest != nil && ports == 1:
		return oldest, nil
	case oldest != nil && subset:
		return nil, lost("PortRequired", "%s has %d ports, and a subset cannot say which; write a MeshService with its port", refText(ref), ports)
	case oldest != nil:
		return nil, lost("PortRequired", "%s has %d ports; say which by port", refText(ref), ports)
	case real:
		return nil, lost("BackendNotFound", "%s has no port %s; use one that it has", refText(ref), portText(port, section))
	case classic != nil:
		return nil, lost("BackendNotFound", "there is no MeshService %s, only the kuma.io/service of that name, which has no ports; name it without a port", ref.Name)
	}
	l := lost("BackendNotFound", "there is no %s", refText(ref))
	l.absent = &ref
	return nil, l
}

func isKubeName(name string) bool {
	_, _, _, ok := matcher.KubeName(name)
	return ok
}

// older orders objects of one name for refs that several satisfy.
func older(a, b *dest) bool {
	if a.object == nil || b.object == nil || a.object.Created.Equal(b.object.Created) {
		return a.Ref.Compare(b.Ref) < 0
	}
	return a.object.Created.Before(b.object.Created)
}

func portText(port uint32, section string) string {
	if section != "" {
		return section
	}
	return fmt.Sprint(port)
}
