package clusters

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
)

// form is who calls a cluster.
type form uint8

const (
	plain      form = iota // proxies without an identity
	secure                 // those with one
	overStream             // those whose certificate comes from the control plane
	formCount
)

// forms are the renderings of one cluster, each made when the first one asks who calls it so.
type forms struct {
	made    resource.Weak[form, resource.Resource]
	refused [formCount]effective.Derived // notes on those that Envoy would refuse
	grpc    effective.Derived
}

func formsOf(beside *effective.Derived) *forms {
	return beside.Do(func() any { return &forms{} }).(*forms)
}

// get is one of them, or why there is none.
func (s *forms) get(f form, render func() (*resource.Resource, []api.Note)) (*resource.Resource, []api.Note) {
	if notes, ok := s.refused[f].Made(); ok {
		return nil, notes.([]api.Note)
	}
	var notes []api.Note
	made := s.made.Get(f, func() *resource.Resource {
		r, why := render()
		if r == nil {
			notes = s.refused[f].Do(func() any { return why }).([]api.Note)
		}
		return r
	})
	return made, notes
}

// ForGRPC is for what the cluster is to gRPC clients.
func ForGRPC(beside *effective.Derived) *effective.Derived { return &formsOf(beside).grpc }
