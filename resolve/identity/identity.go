// Package identity says who a dataplane is: which MeshIdentity it has, the names that its
// certificate will hold (spec/identity.md 1.2, 2.5), how its inbounds take mutual TLS, whom a mesh
// trusts, and what is revoked. Whether the dataplane has proved what this rests on is not decided here.
package identity

import (
	"cmp"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/matcher"
)

// WorkloadLabel names the workload of a dataplane outside Kubernetes, ServiceAccountLabel the
// service account of one in Kubernetes, which is that of its Pod.
const (
	WorkloadLabel       = "kuma.io/workload"
	ServiceAccountLabel = "k8s.kuma.io/service-account"
)

// Select is the MeshIdentity, of those of its mesh, that a dataplane with labels has: of several
// that select it the one with most labels, then the smallest name. Nil is none. The order of
// identities does not matter.
func Select(identities []*api.Object, labels *api.Labels) *api.Object {
	var best *api.Object
	for _, o := range identities {
		if selects(o, labels) && (best == nil || stronger(o, best) < 0) {
			best = o
		}
	}
	return best
}

// selects: no selector selects nothing, an empty one everything.
func selects(o *api.Object, labels *api.Labels) bool {
	s, ok := o.Spec.(*api.MeshIdentity)
	return ok && s.Selector != nil && labels.Carry(wanted(s))
}

func wanted(s *api.MeshIdentity) map[string]string {
	if s.Selector == nil || s.Selector.Dataplane == nil {
		return nil
	}
	return s.Selector.Dataplane.MatchLabels
}

// stronger orders two that select one dataplane, the stronger first.
func stronger(a, b *api.Object) int {
	return cmp.Or(
		cmp.Compare(len(wanted(b.Spec.(*api.MeshIdentity))), len(wanted(a.Spec.(*api.MeshIdentity)))),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Namespace, b.Namespace),
	)
}

// Facts are what names are made of. Of a dataplane in Kubernetes all are those of its Pod.
type Facts struct {
	Dataplane      *matcher.Dataplane
	Mesh           string
	Zone           api.Zone
	ServiceAccount string // empty outside Kubernetes
}

// ByTemplate is the one name that a MeshIdentity gives. The error is for people, and names
// the dataplane and what it lacks (condition SpiffeIDInvalid).
func ByTemplate(by *api.MeshIdentity, f Facts) (spiffe.ID, error) {
	fail := func(err error) (spiffe.ID, error) {
		return spiffe.ID{}, fmt.Errorf("dataplane %s: %w", f.Dataplane.Name, err)
	}
	domain, path := spiffe.DefaultDomain, spiffe.DefaultUniversalPath
	if f.Zone.Environment == api.EnvKubernetes {
		path = spiffe.DefaultKubernetesPath
	}
	if n := by.SpiffeID; n != nil && n.TrustDomain != nil {
		domain = *n.TrustDomain
	}
	if n := by.SpiffeID; n != nil && n.Path != nil {
		path = *n.Path
	}
	d, err := spiffe.ParseDomain(domain)
	if err != nil {
		return fail(err)
	}
	p, err := spiffe.ParsePath(path)
	if err != nil {
		return fail(err)
	}
	workload, _ := f.Dataplane.Labels.Get(WorkloadLabel)
	id, err := spiffe.NewTemplate(d, p).ID(spiffe.Workload{
		Mesh: f.Mesh, Zone: f.Zone.Name, Namespace: f.Dataplane.Namespace,
		ServiceAccount: f.ServiceAccount, Workload: workload, Label: f.Dataplane.Labels.Get,
	})
	if err != nil {
		return fail(err)
	}
	return id, nil
}

// ByTags are the names of a dataplane that has no MeshIdentity, in a mesh with an authority of
// its own, by the tags of all its inbounds.
func ByTags(f Facts) ([]string, error) {
	all := map[string][]string{}
	for _, tags := range f.Dataplane.Tags {
		for k, v := range tags {
			all[k] = append(all[k], v)
		}
	}
	names, err := spiffe.OfTags(f.Mesh, all)
	if err != nil {
		return nil, fmt.Errorf("dataplane %s: %w", f.Dataplane.Name, err)
	}
	return names, nil
}
