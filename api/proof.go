package api

import (
	"maps"
	"slices"
)

// Proof is what the credential of a sidecar binds of the Dataplane that the sidecar brought along: of
// each of the tags and labels the values that it may have, and its workload. All else that such a
// document says is the word of whoever runs there.
type Proof struct {
	Tags     map[string][]string `json:"tags,omitempty"`
	Labels   map[string][]string `json:"labels,omitempty"`
	Workload string              `json:"workload,omitempty"`
}

// LabelWorkload names the workload of a dataplane outside Kubernetes.
const LabelWorkload = "kuma.io/workload"

// Tag reports whether a tag is bound.
func (p *Proof) Tag(key, value string) bool { return slices.Contains(p.Tags[key], value) }

// Label reports whether a label is bound, as itself, as a tag of that name, or as the workload.
func (p *Proof) Label(key, value string) bool {
	return slices.Contains(p.Labels[key], value) || p.Tag(key, value) || key == LabelWorkload && value != "" && p.Workload == value
}

// Of is a Dataplane as far as p binds it.
func (p *Proof) Of(o *Object) *Object {
	out := *o
	out.Proof = nil
	out.Labels = maps.Clone(o.Labels)
	maps.DeleteFunc(out.Labels, func(k, v string) bool { return !p.Label(k, v) })
	spec, ok := o.Spec.(*Dataplane)
	if !ok || spec.Networking == nil {
		return &out
	}
	dp, net := *spec, *spec.Networking
	net.Inbound = slices.Clone(net.Inbound)
	for i := range net.Inbound {
		net.Inbound[i].Tags = p.bound(net.Inbound[i].Tags)
	}
	if net.Gateway != nil {
		g := *net.Gateway
		g.Tags, net.Gateway = p.bound(g.Tags), &g
	}
	dp.Networking, out.Spec = &net, &dp
	return &out
}

func (p *Proof) bound(tags map[string]string) map[string]string {
	kept := maps.Clone(tags)
	maps.DeleteFunc(kept, func(k, v string) bool { return !p.Tag(k, v) })
	return kept
}

// Bound is what the object may say by who has brought it along; nil where nothing that it says has to be
// proved: it is the word of a user, of a directory or of a cluster, or nobody is asked for proofs.
func (o *Object) Bound() *Proof {
	if o.Owner != Ephemeral || o.From != nil {
		return nil
	}
	return o.Proof
}
