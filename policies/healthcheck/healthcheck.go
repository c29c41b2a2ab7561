// Package healthcheck is the policy MeshHealthCheck: callers check each endpoint of a service by themselves,
// and send to those that are well (spec/kinds.md 2).
//
// It promises that an endpoint which is taken away gets nothing more, be it that it still passes its check,
// and that how endpoints are asked follows how the service is spoken to.
package healthcheck

import (
	_ "embed"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:       "MeshHealthCheck",
	Plural:     "meshhealthchecks",
	Short:      "mhc",
	Title:      "Lets callers check which endpoints of a service are well",
	New:        func() policies.Conf { return new(Conf) },
	Schema:     policies.SchemaOf[Conf](),
	Defaults:   defaults,
	IdleAt:     idle,
	OnAttempts: true,
	Docs:       docs,
	Example:    example,
}

// idle: one of the blocks says how endpoints are checked, and without it nothing is.
func idle(of policies.Conf, path string, p api.Protocol) string {
	c := of.(*Conf)
	w, why := c.way(p)
	block, _, inBlock := strings.Cut(path, ".")
	switch {
	case path == "healthyPanicThreshold", path == "failTrafficOnPanic": // outlier detection leaves endpoints out too
		return ""
	case inBlock && strings.HasSuffix(path, ".disabled"):
		if w == way(block) || ownOf(p) == way(block) {
			return ""
		}
		return "what it reaches speaks " + string(p)
	case w == unchecked:
		return why
	case inBlock && way(block) != w:
		return "what it reaches speaks " + string(p) + ", which is checked by " + string(w)
	}
	return ""
}

// ownOf is the block for a protocol.
func ownOf(p api.Protocol) way {
	switch p {
	case api.HTTP, api.HTTP2:
		return byHTTP
	case api.GRPC:
		return byGRPC
	}
	return byTCP
}

// The built-in values of spec/kinds.md 2, of fields that Envoy wants to have.
const (
	interval, timeout   = time.Minute, 15 * time.Second
	unhealthy, healthy  = 5, 1
	path, expected      = "/", uint32(200)
	mostHeaders, mostIn = 16, 4096
)

func defaults() policies.Conf {
	return &Conf{
		Interval: new(api.Duration(interval)), Timeout: new(api.Duration(timeout)),
		UnhealthyThreshold: new(int32(unhealthy)), HealthyThreshold: new(int32(healthy)),
		HTTP: &HTTP{Path: new(path), ExpectedStatuses: []uint32{expected}},
	}
}
