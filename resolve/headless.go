package resolve

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
func (m indexMesh) service(o *api.Object) *service {
	s := newService(o, m.zone)
	name := pods.PartOf(o)
	if name == "" {
		return s
	}
	of, _ := m.serviceObjects.Get(m.at, objectKey(api.Ref{Kind: api.KindService, Namespace: o.Namespace, Name: name}))
	if of == nil {
		return s
	}
	whole := newService(of, m.zone)
	ports := o.Spec.(*api.MeshService).Ports
	for i, d := range s.dests {
		j := slices.IndexFunc(whole.dests, func(w *effective.Destination) bool { return w.PortName == ports[i].Name || ports[i].Name == "" })
		if j < 0 {
			continue
		}
		w := whole.dests[j]
		d.Protocol, d.Guessed, d.PortName = w.Protocol, w.Guessed, w.PortName
		d.Above = &matcher.Service{Kind: w.Kind, Name: w.Name, Object: of.Name, Namespace: w.Namespace, Labels: w.Labels, Port: w.Port, PortName: w.PortName}
	}
	return s
}

// instanceMembers is the pod that a destination is, ready or not: who calls its address
// means it.
func (m servicesMesh) instanceMembers(d *effective.Destination) *members {
	var a answers
	for _, ip := range d.VIPs {
		m.addAnswer(&a, ip, d.Port, "")
	}
	return a.members()
}

func (c *indexStage) addServices() {
	c.services = derive.Derive(c.schema, "services read", c.serviceObjects, derive.Values[service]{}, func(r *derive.Reader, key string) *service {
		o, _ := c.serviceObjects.Get(r, key)
		if !c.derived(r).admitted(o) {
			return nil // of which there is a note
		}
		return c.derived(r).service(o)
	})
}
