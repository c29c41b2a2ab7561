// Package backends divides traffic among the backends of a rule as Envoy adds up their weights.
package backends

import (
	"fmt"
	"math"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/naming"
)

// Split is a route's backends as Envoy divides them.
type Split struct {
	Shares   []Share // none: nobody can answer
	Broken   uint32  // the status of a share that is Unresolved; 0: there is none
	External bool    // one of the shares is outside the mesh
	scaled   bool    // the weights were too large together
	Filtered bool    // one of the shares has filters of its own
}

// Share is one part of the traffic.
type Share struct {
	Cluster string
	Weight  uint32
	Filters []route.Filter
}

// Divide keeps what gets traffic. Weights that exceed what Envoy can add up
// are scaled down together, and none of them to nothing.
func Divide(backends []effective.Backend) Split {
	var s Split
	var sum uint64
	usable := false
	for _, b := range effective.Sharing(backends) {
		name := b.Cluster
		if name == "" {
			name, s.Broken = naming.Unresolved, b.Broken.Status
		} else {
			usable = true
			s.External = s.External || b.Kind == api.KindMeshExternalService
		}
		s.Shares = append(s.Shares, Share{name, b.Weight, b.Filters})
		s.Filtered = s.Filtered || len(b.Filters) > 0
		sum += uint64(b.Weight)
	}
	if !usable {
		return Split{}
	}
	if sum > math.MaxUint32 {
		s.scaled = true
		limit := math.MaxUint32 - uint64(len(s.Shares)) // room for those that round up to one
		for i, h := range s.Shares {
			scaled := float64(h.Weight) / float64(sum) * float64(limit)
			s.Shares[i].Weight = max(1, uint32(scaled))
		}
	}
	return s
}

// Clusters are those among the shares that there are.
func (s Split) Clusters() []string {
	var out []string
	for _, h := range s.Shares {
		if h.Cluster != naming.Unresolved {
			out = append(out, h.Cluster)
		}
	}
	return out
}

// Note says that the weights of r were scaled down; false where they were not.
func (s Split) Note(r *effective.Route) (api.Note, bool) {
	if !s.scaled {
		return api.Note{}, false
	}
	return api.Note{
		Origin: r.ActionBy, Severity: api.Warning, Code: "WeightsScaled",
		Message: fmt.Sprintf("the weights add up to more than %d; they were scaled down together, so lower them", uint32(math.MaxUint32)),
	}, true
}

// Notes are what there is to say of where connections go.
func Notes(t *effective.TCPTable) []api.Note {
	var out []api.Note
	for part := range t.Parts() {
		if n, ok := Divide(part.Backends).Note(&effective.Route{}); ok {
			n.Origin = part.BackendsBy
			out = append(out, n)
		}
	}
	return out
}
