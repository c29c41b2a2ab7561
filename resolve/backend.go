package resolve

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// backend resolves a ref of a route object. One that leads nowhere stays, with
// the reason, so that its share can be answered as its dialect says (spec/kuma.md 2.3).
func (b *tableBuilder) backend(ref *route.BackendRef, own []ownConf) effective.Backend {
	d, lost := b.findBackend(*ref)
	if lost == nil && !d.reads(ref.Speaks) {
		lost = wrongProtocol(d)
	}
	return b.found(ref, d, lost, effective.Broken{Status: ref.Broken}, own)
}

// connect resolves a ref for connections, to which every protocol is the same.
func (b *tableBuilder) connect(ref *route.BackendRef) effective.Backend {
	d, lost := b.findBackend(*ref)
	return b.found(ref, d, lost, effective.Broken{Close: true}, nil)
}

// found is a ref that means d, or is lost.
func (b *tableBuilder) found(ref *route.BackendRef, d *dest, lost *lostRef, broken effective.Broken, own []ownConf) effective.Backend {
	out := effective.Backend{Kind: ref.Target.Kind, Name: ref.Target.Name, Namespace: ref.Target.Namespace,
		Tags: ref.Target.Tags, Port: ref.Port, Weight: ref.Weight, Filters: ref.Filters}
	if lost != nil {
		out.Broken, out.Broken.Why = broken, lost.message
		return out
	}
	out.Kind, out.Name, out.Namespace, out.Port = d.Kind, d.Name, d.Namespace, d.Port
	v := &variant{out.Tags, ref.Balance, ref.HTTP2 && d.Protocol != api.GRPC && d.Protocol != api.HTTP2, own}
	out.Cluster, out.Balance, out.HTTP2 = v.clusterName(d.Destination), ref.Balance, v.HTTP2
	b.use(d.Destination, v)
	return out
}

// lostRef is why a ref leads nowhere. It depends on what the ref may mean alone,
// so that a route stays as it is when something else comes or goes.
type lostRef struct {
	code, message string
	absent        *api.TargetRef // nothing has the name: others may be near
}

// text is the reason for people, with the names that the writer may have meant.
func (l *lostRef) text(m mesh) string {
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

// found is what a ref may mean.
type found struct {
	classic *dest // the kuma.io/service of that name
	object  *dest // a port of the oldest object that has such a port
	ports   int   // how many ports of that object fit
	real    bool  // some object has the name, whatever its ports
}

// find looks for what a ref means, written in an object of namespace home; port
// and section narrow it to one port.
func (m servicesMesh) find(ref api.TargetRef, port uint32, section string, home api.Home) found {
	var f found
	for d := range m.destsNamed(index.TargetName(ref)) {
		if !matcher.Destination(ref, home, d.facts.Itself()) {
			continue
		}
		if d.facts.Classic {
			if !d.Listed {
				f.classic = d
			}
			continue
		}
		f.real = true
		if port != 0 && port != d.Port || !matcher.Section(section, &d.facts) {
			continue
		}
		if f.object == nil || d.Ref != f.object.Ref && older(d, f.object) {
			f.object, f.ports = d, 0
		}
		if d.Ref == f.object.Ref {
			f.ports++
		}
	}
	return f
}

// findBackend chooses what a backendRef means. Without a port a name is the
// classic service in mode Disabled and where no object has the name, else the
// object if it has one port (spec/contract.md 9). A subset, which has no port, is of the
// classic service where there is one.
func (m servicesMesh) findBackend(want route.BackendRef) (*dest, *lostRef) {
	if want.Lost != nil {
		return nil, &lostRef{code: want.Lost.Code, message: want.Lost.Message}
	}
	ref, port, home := want.Target, want.Port, want.Home
	subset := ref.Kind == api.KindMeshServiceSubset
	if subset {
		ref.Kind = api.KindMeshService
	}
	section := ref.SectionName
	ref.SectionName = ""
	f := m.find(ref, port, section, home)
	anyPort := port == 0 && section == ""
	switch {
	case anyPort && f.classic != nil && (subset || m.Mode() == index.Disabled || !f.real):
		return f.classic, nil
	case f.object != nil && f.ports == 1:
		return f.object, nil
	case f.object != nil && subset:
		return nil, lost("PortRequired", "%s has %d ports, and a subset cannot say which; write a MeshService with its port", refText(ref), f.ports)
	case f.object != nil:
		return nil, lost("PortRequired", "%s has %d ports; say which by port", refText(ref), f.ports)
	case f.real:
		return nil, lost("BackendNotFound", "%s has no port %s; use one that it has", refText(ref), portText(port, section))
	case f.classic != nil:
		return nil, lost("BackendNotFound", "there is no MeshService %s, only the kuma.io/service of that name, which has no ports; name it without a port", ref.Name)
	}
	l := lost("BackendNotFound", "there is no %s", refText(ref))
	l.absent = &ref
	return nil, l
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
