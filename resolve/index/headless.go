package index

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/pods"
)

// service reads an object of one of the service kinds. That of a pod of a headless Service
// speaks what the Service says, and is a part of it (spec/kubernetes.md 3.6).
func (m Mesh) service(o *api.Object) *Service {
	s := NewService(o, m.ZoneLabels)
	name := pods.PartOf(o)
	if name == "" {
		return s
	}
	of, _ := m.ServiceObjects.Get(m.At, ObjectKey(api.Ref{Kind: api.KindService, Namespace: o.Namespace, Name: name}))
	if of == nil {
		return s
	}
	whole := NewService(of, m.ZoneLabels)
	ports := o.Spec.(*api.MeshService).Ports
	for i, d := range s.Dests {
		j := slices.IndexFunc(whole.Dests, func(w *effective.Destination) bool { return w.PortName == ports[i].Name || ports[i].Name == "" })
		if j < 0 {
			continue
		}
		w := whole.Dests[j]
		d.Protocol, d.Guessed, d.PortName = w.Protocol, w.Guessed, w.PortName
		d.Above = &matcher.Service{Kind: w.Kind, Name: w.Name, Object: of.Name, Namespace: w.Namespace, Labels: w.Labels, Port: w.Port, PortName: w.PortName}
	}
	return s
}

func (c *Stage) addServices() {
	c.Services = derive.Derive(c.Schema, "services read", c.ServiceObjects, derive.Values[Service]{}, func(r *derive.Reader, key string) *Service {
		o, _ := c.ServiceObjects.Get(r, key)
		if !c.Mesh(r).admitted(o) {
			return nil // of which there is a note
		}
		return c.Mesh(r).service(o)
	})
}
