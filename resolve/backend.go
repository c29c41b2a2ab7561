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

// lostRef is why a ref leads nowhere.
type lostRef struct{ code, message string }

func wrongProtocol(d *dest) *lostRef {
	return &lostRef{"UnsupportedProtocol", fmt.Sprintf("%s speaks %s; requests can only be routed to http, http2 or grpc", d.ID, d.Protocol)}
}

// findBackend finds what a backendRef means, written in an object of namespace
// home. Without a port a name is the classic service in mode Disabled and where
// no object has the name, else the object if it has one port (contract 9).
func findBackend(m *mesh, ref api.TargetRef, port uint32, home string) (*dest, *lostRef) {
	if ref.Kind == api.KindMeshServiceSubset {
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
	if port == 0 && section == "" && classic != nil && (m.mode == "" || m.mode == "Disabled" || !real) {
		return classic, nil
	}
	switch {
	case oldest != nil && ports == 1:
		return oldest, nil
	case oldest != nil:
		return nil, &lostRef{"PortRequired", fmt.Sprintf("%s %s has %d ports; say which by port", ref.Kind, ref.Name, ports)}
	case real:
		return nil, &lostRef{"BackendNotFound", fmt.Sprintf("%s %s has no port %s; use one that it has", ref.Kind, ref.Name, portText(port, section))}
	case classic != nil:
		return nil, &lostRef{"BackendNotFound", fmt.Sprintf("there is no MeshService %s, only the kuma.io/service of that name, which has no ports; leave out port", ref.Name)}
	}
	return nil, &lostRef{"BackendNotFound", fmt.Sprintf("there is no %s", refText(ref)) + suggestion(m, ref)}
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
