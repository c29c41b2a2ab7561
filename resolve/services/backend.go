package services

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// UnresolvedRef is why a ref leads nowhere. It depends on what the ref may mean alone,
// so that a route stays as it is when something else comes or goes.
type UnresolvedRef struct {
	Code, Message string
	Missing       *api.TargetRef // nothing has the name: others may be near
}

// WrongProtocol is why requests cannot be sent to d.
func WrongProtocol(d *Destination) *UnresolvedRef {
	return Unresolved("UnsupportedProtocol", "%s speaks %s; requests can only be routed to http, http2 or grpc", d.ID, d.Protocol)
}

// Unresolved is a ref that leads nowhere, by code and message.
func Unresolved(code, format string, args ...any) *UnresolvedRef {
	return &UnresolvedRef{Code: code, Message: fmt.Sprintf(format, args...)}
}

// match is what a ref may mean.
type match struct {
	classic *Destination // the kuma.io/service of that name
	object  *Destination // a port of the oldest object that has such a port
	ports   int          // how many ports of that object fit
	real    bool         // some object has the name, whatever its ports
}

// find looks for what a ref means, written in an object of namespace home; port
// and section narrow it to one port.
func (m Mesh) find(ref api.TargetRef, port uint32, section string, home api.Home) match {
	var f match
	for d := range m.DestinationsNamed(index.TargetName(ref)) {
		if !matcher.Destination(ref, home, d.Facts.Itself()) {
			continue
		}
		if d.Facts.Classic {
			if !d.Listed {
				f.classic = d
			}
			continue
		}
		f.real = true
		if port != 0 && port != d.Port || !matcher.Section(section, &d.Facts) {
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

// FindBackend chooses what a backendRef means. Without a port a name is the
// classic service in mode Disabled and where no object has the name, else the
// object if it has one port (spec/contract.md 9). A subset, which has no port, is of the
// classic service where there is one.
func (m Mesh) FindBackend(want route.BackendRef) (*Destination, *UnresolvedRef) {
	if want.Unresolved != nil {
		return nil, &UnresolvedRef{Code: want.Unresolved.Code, Message: want.Unresolved.Message}
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
		return nil, Unresolved("PortRequired", "%s has %d ports, and a subset cannot say which; write a MeshService with its port", index.RefText(ref), f.ports)
	case f.object != nil:
		return nil, Unresolved("PortRequired", "%s has %d ports; say which by port", index.RefText(ref), f.ports)
	case f.real:
		return nil, Unresolved("BackendNotFound", "%s has no port %s; use one that it has", index.RefText(ref), PortText(port, section))
	case f.classic != nil:
		return nil, Unresolved("BackendNotFound", "there is no MeshService %s, only the kuma.io/service of that name, which has no ports; name it without a port", ref.Name)
	}
	l := Unresolved("BackendNotFound", "there is no %s", index.RefText(ref))
	l.Missing = &ref
	return nil, l
}

// older orders objects of one name for refs that several satisfy.
func older(a, b *Destination) bool {
	if a.Object == nil || b.Object == nil || a.Object.Created.Equal(b.Object.Created) {
		return a.Ref.Compare(b.Ref) < 0
	}
	return a.Object.Created.Before(b.Object.Created)
}

// PortText is a port as a ref names it: its section, else its number.
func PortText(port uint32, section string) string {
	if section != "" {
		return section
	}
	return fmt.Sprint(port)
}
