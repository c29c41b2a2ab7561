package loadbalancingstrategy

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Conf says which endpoint of a service gets a request.
type Conf struct {
	// LoadBalancer is how one of the endpoints is chosen.
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty" schema:"least=1"`
	// HashPolicies are by what of a request RingHash and Maglev choose, in this order; by chance where a
	// request has none of it. An empty list leaves it to chance.
	HashPolicies []HashPolicy `json:"hashPolicies,omitzero" weft:"route,hash" schema:"most=16"`
	// LocalityAwareness prefers endpoints that are near.
	LocalityAwareness *LocalityAwareness `json:"localityAwareness,omitempty" schema:"least=1"`
}

// LoadBalancer is how one of the endpoints is chosen. Of the blocks that of the type alone has an effect.
type LoadBalancer struct {
	// Type is RoundRobin, LeastRequest, RingHash, Random or Maglev.
	Type *string `json:"type,omitempty" weft:"cluster,balance" schema:"enum=RoundRobin|LeastRequest|RingHash|Random|Maglev"`
	// LeastRequest is for that type.
	LeastRequest *LeastRequest `json:"leastRequest,omitempty"`
	// RingHash is for that type.
	RingHash *RingHash `json:"ringHash,omitempty"`
	// Maglev is for that type.
	Maglev *Maglev `json:"maglev,omitempty"`
}

// LeastRequest takes of some endpoints, drawn by chance, the one with the fewest requests under way.
type LeastRequest struct {
	// ChoiceCount is how many are drawn. Envoy's is 2.
	ChoiceCount *uint32 `json:"choiceCount,omitempty" weft:"cluster,balance" schema:"min=2"`
	// ActiveRequestBias is how much requests under way count where endpoints have different weights. Envoy's is 1.
	ActiveRequestBias *policies.Decimal `json:"activeRequestBias,omitempty" weft:"cluster,balance"`
}

// RingHash takes the endpoint that stands next on a ring to the hash of a request.
type RingHash struct {
	// HashFunction is XXHash or MurmurHash2. Envoy's is XXHash.
	HashFunction *string `json:"hashFunction,omitempty" weft:"cluster,balance" schema:"enum=XXHash|MurmurHash2"`
	// MinRingSize is how many places the ring has at least. Envoy's is 1024.
	MinRingSize *uint32 `json:"minRingSize,omitempty" weft:"cluster,balance" schema:"min=1,max=8000000"`
	// MaxRingSize is how many it has at most. Envoy's is 8000000.
	MaxRingSize *uint32 `json:"maxRingSize,omitempty" weft:"cluster,balance" schema:"min=1,max=8000000"`
	// HashPolicies is an older form of hashPolicies beside loadBalancer, which hold where both are set.
	HashPolicies []HashPolicy `json:"hashPolicies,omitzero" weft:"route,hash" schema:"most=16"`
}

// Maglev takes the endpoint that a table has for the hash of a request.
type Maglev struct {
	// TableSize is how many places the table has: a prime. Envoy's is 65537.
	TableSize *uint32 `json:"tableSize,omitempty" weft:"cluster,balance" schema:"min=2,max=5000011"`
	// HashPolicies is an older form of hashPolicies beside loadBalancer, which hold where both are set.
	HashPolicies []HashPolicy `json:"hashPolicies,omitzero" weft:"route,hash" schema:"most=16"`
}

// HashPolicy is a part of a request by whose value an endpoint is chosen.
type HashPolicy struct {
	// Type says which block it has.
	Type string `json:"type" schema:"required,enum=Header|Cookie|Connection|QueryParameter|FilterState|SourceIP"`
	// Terminal says that no later one counts where the request has this one, or one before.
	Terminal *bool `json:"terminal,omitempty"`
	// Header is the value of a header.
	Header *Header `json:"header,omitempty"`
	// Cookie is the value of a cookie.
	Cookie *Cookie `json:"cookie,omitempty"`
	// Connection is the address that the request comes from.
	Connection *Connection `json:"connection,omitempty"`
	// QueryParameter is the value of a parameter of the query.
	QueryParameter *QueryParameter `json:"queryParameter,omitempty"`
	// FilterState is an object that filters have set.
	FilterState *FilterState `json:"filterState,omitempty"`
}

// Header is a header of requests.
type Header struct {
	// Name is that of the header.
	Name string `json:"name" schema:"required,is=headerName"`
}

// Cookie is a cookie of requests.
type Cookie struct {
	// Name is that of the cookie.
	Name string `json:"name" schema:"required"`
	// TTL is how long a cookie lasts that the proxy sets where a request has none; 0s is for the time of a
	// session. Without it the proxy sets none.
	TTL *api.Duration `json:"ttl,omitempty"`
	// Path is that of a cookie which the proxy sets.
	Path *string `json:"path,omitempty"`
}

// Connection is who the request comes from.
type Connection struct {
	// SourceIP is the address; true.
	SourceIP *bool `json:"sourceIP,omitempty"`
}

// QueryParameter is a parameter of the query.
type QueryParameter struct {
	// Name is that of the parameter.
	Name string `json:"name" schema:"required"`
}

// FilterState is an object that filters have set.
type FilterState struct {
	// Key is that of the object.
	Key string `json:"key" schema:"required"`
}

// LocalityAwareness prefers endpoints that are near.
type LocalityAwareness struct {
	// Disabled lets all endpoints count alike, wherever they are.
	Disabled *bool `json:"disabled,omitempty" weft:"cluster,locality"`
	// LocalZone prefers endpoints of the caller's own zone that share a tag with it.
	LocalZone *LocalZone `json:"localZone,omitempty"`
	// CrossZone is what becomes of requests that the first choice does not take.
	CrossZone *CrossZone `json:"crossZone,omitempty" schema:"least=1"`
}

// LocalZone prefers endpoints that share a tag with the caller.
type LocalZone struct {
	// AffinityTags are tags: an endpoint belongs to the first of them of which it and the caller have the same value.
	// A tag is that of an inbound, or else a label of the dataplane.
	AffinityTags []AffinityTag `json:"affinityTags,omitzero" weft:"cluster,locality"`
}

// AffinityTag is a tag by whose value endpoints are near.
type AffinityTag struct {
	// Key is that of the tag.
	Key string `json:"key" schema:"required"`
	// Weight is how much of all requests the endpoints get together that share it; those that share none have weight
	// 1. Without weights each counts ten times as much as the next one, the last one 9.
	Weight *uint32 `json:"weight,omitempty" schema:"min=1"`
}

// CrossZone is what becomes of requests that the first choice does not take.
type CrossZone struct {
	// Failover says which zones take them. There is one zone, so it has no effect.
	Failover []Failover `json:"failover,omitzero" weft:"cluster,locality"`
	// FailoverThreshold is from when endpoints of the next priority are used too.
	FailoverThreshold *FailoverThreshold `json:"failoverThreshold,omitempty" weft:"cluster,locality"`
}

// Failover says which zones take requests.
type Failover struct {
	// From are the zones from which requests come; all where it is left out.
	From *Zones `json:"from,omitempty"`
	// To are the zones that take them.
	To ToZones `json:"to" schema:"required"`
}

// Zones are named.
type Zones struct {
	// Zones are their names.
	Zones []string `json:"zones" schema:"required,least=1"`
}

// ToZones are zones that take requests.
type ToZones struct {
	// Type is None, Only, Any or AnyExcept.
	Type string `json:"type" schema:"required,enum=None|Only|Any|AnyExcept"`
	// Zones are the names for Only and AnyExcept.
	Zones []string `json:"zones,omitempty"`
}

// FailoverThreshold is from when endpoints of the next priority are used too. It is replaced as a whole.
type FailoverThreshold struct {
	// Percentage of endpoints of a priority that have to be well, so that it takes all.
	Percentage policies.Percentage `json:"percentage" schema:"required"`
}

// hash is by what an endpoint is chosen: the list beside loadBalancer, else that of the type's block.
func (c *Conf) hash() (list []HashPolicy, at string) {
	b := c.LoadBalancer
	switch {
	case c.HashPolicies != nil:
		return c.HashPolicies, "hashPolicies"
	case b == nil:
		return nil, ""
	case is(b.Type, maglev) && b.Maglev != nil && b.Maglev.HashPolicies != nil:
		return b.Maglev.HashPolicies, "loadBalancer.maglev.hashPolicies"
	case is(b.Type, ringHash) && b.RingHash != nil && b.RingHash.HashPolicies != nil:
		return b.RingHash.HashPolicies, "loadBalancer.ringHash.hashPolicies"
	}
	return nil, ""
}

// typ is the type; RoundRobin where nobody says one.
func (c *Conf) typ() string {
	if c.LoadBalancer == nil || c.LoadBalancer.Type == nil {
		return roundRobin
	}
	return *c.LoadBalancer.Type
}

func is(s *string, word string) bool { return s != nil && *s == word }

func isTrue(b *bool) bool { return b != nil && *b }
