// Package loadbalancingstrategy is the policy MeshLoadBalancingStrategy: which endpoint of a service gets a request
// (spec/kinds.md 3).
//
// It promises that what a route says by itself of its backends holds for those, and that a request without
// what the hash is taken of goes to any endpoint.
package loadbalancingstrategy

import (
	_ "embed"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:       "MeshLoadBalancingStrategy",
	Plural:     "meshloadbalancingstrategies",
	Short:      "mlbs",
	Title:      "Says which endpoint of a service gets a request",
	New:        func() policies.Conf { return new(Conf) },
	Schema:     policies.SchemaOf[Conf](),
	Applies:    acts,
	Requires:   requires,
	Scoped:     scoped,
	Check:      check,
	OnAttempts: true,
	Docs:       docs,
	Example:    example,
}

// The types of a load balancer.
const (
	roundRobin, leastRequest, ringHash, random, maglev = "RoundRobin", "LeastRequest", "RingHash", "Random", "Maglev"
)

// blocks are the blocks of types, as paths begin.
var blocks = map[string]string{leastRequest: "loadBalancer.leastRequest.", ringHash: "loadBalancer.ringHash.", maglev: "loadBalancer.maglev."}

// acts: all that there is acts on requests and on connections.
func acts(path string, _ api.Protocol) bool { return true }

// scoped: whole connections are hashed by their listener.
func scoped(path string, scope policies.Scope, p api.Protocol) policies.Scope {
	if strings.HasSuffix(path, "ashPolicies") && !p.HTTPLike() {
		return policies.OnListener
	}
	return scope
}

// requires: of the blocks that of the type has an effect, and of the lists the one beside them.
func requires(of policies.Conf, path string) string {
	c := of.(*Conf)
	for typ, block := range blocks {
		if strings.HasPrefix(path, block) && c.typ() != typ {
			return "the type is " + c.typ()
		}
	}
	switch _, at := c.hash(); {
	case strings.HasSuffix(path, "ashPolicies") && path != at:
		return at + " stands in its place"
	case path == "localityAwareness.localZone.affinityTags" && isTrue(c.LocalityAwareness.Disabled):
		return "localityAwareness.disabled lets all endpoints count alike"
	case path == "localityAwareness.disabled" && c.LocalityAwareness.LocalZone == nil, path == "localityAwareness.crossZone.failover":
		return "there is one zone"
	}
	return ""
}
