package peers

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// Service is that of the replicas of a control plane, whose pods are its peers.
type Service struct {
	Namespace, Name string
	Port            string // as it is called, that for sidecars
}

// has reports whether an EndpointSlice is one of it.
func (s Service) has(slice *api.Object) bool {
	return slice.Namespace == s.Namespace && slice.Labels[api.LabelServiceName] == s.Name
}

// FindIn keeps it known which peers there are, by the EndpointSlices of their Service in a store that was
// read, until ctx ends or the store is closed.
func (r *Replica) FindIn(ctx context.Context, s store.Store, service Service) {
	now, watch := s.Watch()
	defer watch.Stop()
	slices := map[api.Ref]*api.Object{}
	for o := range now.OfKind(api.KindEndpointSlice) {
		if service.has(o) {
			slices[o.Ref] = o
		}
	}
	r.Find(ctx, peersIn(slices, service.Port))
	for {
		_, changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		found := false
		for _, c := range changes {
			ref := c.Ref()
			if ref.Kind != api.KindEndpointSlice {
				continue
			}
			if c.After != nil && service.has(c.After) {
				slices[ref], found = c.After, true
			} else if slices[ref] != nil {
				delete(slices, ref)
				found = true
			}
		}
		if found {
			r.Find(ctx, peersIn(slices, service.Port))
		}
	}
}

// peersIn are the replicas that slices name, in order, at the port for sidecars: of a pod with
// addresses of two families there are two slices.
func peersIn(all map[api.Ref]*api.Object, name string) (out []ReplicaAddress) {
	for _, o := range all {
		s, ok := o.Spec.(*api.EndpointSlice)
		if !ok || s.AddressType == "FQDN" {
			continue
		}
		port := uint32(0)
		for i := range s.Ports {
			if s.Ports[i].Name == name {
				port = s.Ports[i].Port
			}
		}
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			if port == 0 || len(e.Addresses) == 0 {
				continue
			}
			serves := e.IsReady() // of a Service that names replicas before they are ready, all are
			if e.Conditions != nil && e.Conditions.Serving != nil {
				serves = *e.Conditions.Serving
			}
			found := ReplicaAddress{Address: net.JoinHostPort(e.Addresses[0], strconv.FormatUint(uint64(port), 10)), Ready: serves, Stopping: e.Terminates()}
			if e.TargetRef != nil {
				found.Name = e.TargetRef.Name
			}
			out = append(out, found)
		}
	}
	slices.SortFunc(out, func(a, b ReplicaAddress) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return slices.CompactFunc(out, func(a, b ReplicaAddress) bool { return a.Address == b.Address })
}
