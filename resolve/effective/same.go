package effective

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
)

// SameFor reports whether an object stands in was, an earlier state of the
// dataplane, as it stands in r: every value that it is attached to is the same. It is asked of
// every object and every dataplane that has yet to follow, so that what stands where it stood,
// which is nearly all, is passed over without a look at what is attached to it.
func (r *Resolved) SameFor(ref api.Ref, was *Resolved) bool {
	if r == was {
		return true
	}
	if !slices.Equal(r.Edges, was.Edges) { // of which objects say something too
		return false
	}
	for i, o := range r.Outbounds {
		if stands(was.Outbounds, i, o) || len(AttachmentsOn(o.Attachments(), ref)) == 0 {
			continue
		}
		j, ok := slices.BinarySearchFunc(was.Outbounds, o, CompareOutbounds)
		if !ok || was.Outbounds[j].Table != o.Table || was.Outbounds[j].TCP != o.TCP || !was.Outbounds[j].Policies.Is(o.Policies) {
			return false
		}
	}
	for i := range r.Clusters {
		c := &r.Clusters[i]
		if stands(was.Clusters, i, *c) || len(AttachmentsOn(c.Attachments(), ref)) == 0 {
			continue
		}
		j, ok := slices.BinarySearchFunc(was.Clusters, c.Cluster.Name, compareClusterName)
		if !ok || was.Clusters[j].Cluster != c.Cluster || was.Clusters[j].ConnectionsOnly != c.ConnectionsOnly {
			return false
		}
	}
	for i, in := range r.Inbounds {
		if !stands(was.Inbounds, i, in) && len(AttachmentsOn(in.Attachments(), ref)) > 0 && !slices.Contains(was.Inbounds, in) {
			return false
		}
	}
	return r.Whole == was.Whole || !r.Whole.names(ref) && !was.Whole.names(ref)
}

// names reports whether an object has a say on the dataplane as a whole.
func (w *Whole) names(ref api.Ref) bool {
	return w != nil && len(AttachmentsOn(w.Attached().List, ref)) > 0
}

// stands reports whether x is at place i.
func stands[T comparable](list []T, i int, x T) bool { return i < len(list) && list[i] == x }

// Objects are the policies and routes that take part on the dataplane, or only in
// some of its outbounds and the clusters behind them, sorted; each once.
func (r *Resolved) Objects(only ...*Outbound) []api.Ref {
	return slices.SortedFunc(maps.Keys(r.ObjectSet(only...)), api.Ref.Compare)
}

// ObjectSet is Objects in no order.
func (r *Resolved) ObjectSet(only ...*Outbound) map[api.Ref]bool {
	refs := map[api.Ref]bool{}
	r.eachObject(only, func(ref api.Ref) { refs[ref] = true })
	return refs
}

// Mark says of each of refs whether it is among Objects: it costs less than all of those.
func (r *Resolved) Mark(refs map[api.Ref]bool) {
	r.eachObject(nil, func(ref api.Ref) {
		if marked, asked := refs[ref]; asked && !marked {
			refs[ref] = true
		}
	})
}

// eachObject yields Objects, some of them often.
func (r *Resolved) eachObject(only []*Outbound, yield func(api.Ref)) {
	var last *api.Origin // of one that was told: entries of an object come one after the other
	add := func(list []Attachment) {
		for i := range list {
			if e := list[i].Entry; e != last {
				last = e
				yield(e.Ref)
			}
		}
	}
	outbounds := r.Outbounds
	behind := func(string) bool { return true }
	if len(only) > 0 {
		outbounds = only
		names := map[string]bool{}
		for _, o := range only {
			o.clusters(names)
		}
		behind = func(name string) bool { return names[name] }
	} else {
		for _, in := range r.Inbounds {
			add(in.Attachments())
		}
		if r.Whole != nil {
			add(r.Whole.Attached().List)
		}
	}
	for _, o := range outbounds {
		add(o.Attachments())
	}
	for i := range r.Clusters {
		if c := &r.Clusters[i]; behind(c.Cluster.Name) {
			add(c.Attachments())
		}
	}
}

// Sending are the outbounds that send to a cluster.
func (r *Resolved) Sending(cluster string) (out []*Outbound) {
	for _, o := range r.Outbounds {
		names := map[string]bool{}
		if o.clusters(names); names[cluster] {
			out = append(out, o)
		}
	}
	return out
}

// clusters adds the names of those that o sends to.
func (o *Outbound) clusters(names map[string]bool) {
	add := func(list []Backend) {
		for _, b := range list {
			names[b.Cluster] = true
		}
	}
	if o.TCP != nil {
		for part := range o.TCP.Parts() {
			add(part.Backends)
		}
	}
	if o.Table == nil {
		return
	}
	for _, rt := range o.Table.Routes {
		add(rt.Backends)
		for _, m := range rt.Mirrors {
			names[m.Cluster] = true
		}
	}
}
