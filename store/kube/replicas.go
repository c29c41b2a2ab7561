package kube

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// Replicas are the replicas of a control plane: the pods of a Service, by its EndpointSlices.
type Replicas struct {
	Store           *Store
	Namespace, Name string // of the Service
	Port            string // as it is called, that for sidecars
}

// has reports whether an EndpointSlice is one of it.
func (r Replicas) has(slice *api.Object) bool {
	return slice.Namespace == r.Namespace && slice.Labels[api.LabelServiceName] == r.Name
}

// Follow finds them once the store was read.
func (r Replicas) Follow(ctx context.Context, found func([]store.ReplicaAddress)) {
	if r.Store.Synced(ctx) != nil {
		return // ctx has ended
	}
	now, watch := r.Store.Watch()
	defer watch.Stop()
	slices := map[api.Ref]*api.Object{}
	for o := range now.OfKind(api.KindEndpointSlice) {
		if r.has(o) {
			slices[o.Ref] = o
		}
	}
	found(replicasIn(slices, r.Port))
	for {
		_, changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		others := false
		for _, c := range changes {
			ref := c.Ref()
			if ref.Kind != api.KindEndpointSlice {
				continue
			}
			if c.After != nil && r.has(c.After) {
				slices[ref], others = c.After, true
			} else if slices[ref] != nil {
				delete(slices, ref)
				others = true
			}
		}
		if others {
			found(replicasIn(slices, r.Port))
		}
	}
}

// replicasIn are the replicas that slices name, in order, at the port for sidecars: of a pod with
// addresses of two families there are two slices.
func replicasIn(all map[api.Ref]*api.Object, name string) (out []store.ReplicaAddress) {
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
			found := store.ReplicaAddress{Address: net.JoinHostPort(e.Addresses[0], strconv.FormatUint(uint64(port), 10)), Ready: serves, Stopping: e.Terminates()}
			if e.TargetRef != nil {
				found.Name = e.TargetRef.Name
			}
			out = append(out, found)
		}
	}
	slices.SortFunc(out, func(a, b store.ReplicaAddress) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return slices.CompactFunc(out, func(a, b store.ReplicaAddress) bool { return a.Address == b.Address })
}
