package subscription

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/xds/resource"
)

// ResourceType is one of the five types of resources, in the order in which a stream is
// served: what is named comes before what names it.
type ResourceType int

// The types.
const (
	Clusters ResourceType = iota
	Endpoints
	Secrets
	Listeners
	Routes
	Types
)

var (
	urls  = [Types]string{resource.ClusterType, resource.EndpointType, resource.SecretType, resource.ListenerType, resource.RouteType}
	names = [Types]string{"cds", "eds", "sds", "lds", "rds"}
)

// TypeOf is false for types that weft does not serve.
func TypeOf(url string) (ResourceType, bool) {
	for t, u := range urls {
		if u == url {
			return ResourceType(t), true
		}
	}
	return 0, false
}

// URL is by what name requests ask for the type, one text for all.
func (t ResourceType) URL() string { return urls[t] }

// String is the short name: cds, eds, sds, lds, rds.
func (t ResourceType) String() string { return names[t] }

// Of is the list of one type.
func (t ResourceType) Of(s *resource.State) []*resource.Resource {
	switch t {
	case Clusters:
		return s.Clusters
	case Endpoints:
		return s.Endpoints
	case Secrets:
		return s.Secrets
	case Listeners:
		return s.Listeners
	}
	return s.Routes
}

// whole reports whether a state-of-the-world response of t means that whatever
// it leaves out is gone.
func (t ResourceType) whole() bool { return t == Clusters || t == Listeners }

// Find looks a name up in a sorted list; nil where it is not there.
func Find(list []*resource.Resource, name string) *resource.Resource {
	i, ok := slices.BinarySearchFunc(list, name, func(r *resource.Resource, name string) int { return cmp.Compare(r.Name, name) })
	if !ok {
		return nil
	}
	return list[i]
}

// Sort brings a list into the order in which Find looks.
func Sort(list []*resource.Resource) {
	slices.SortFunc(list, func(a, b *resource.Resource) int { return cmp.Compare(a.Name, b.Name) })
}
