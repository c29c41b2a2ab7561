// Package ratelimit is the policy MeshRateLimit: buckets of tokens for requests
// and connections (spec/kuma.md 3.3).
//
// It promises that disabled switches off what weaker policies set, and that a
// policy which sets only the answer limits nothing.
package ratelimit

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
	Name:     "MeshRateLimit",
	Plural:   "meshratelimits",
	Short:    "mrl",
	Title:    "Limits how often a service or a route is called",
	New:      func() policies.Conf { return new(Conf) },
	Schema:   policies.SchemaOf[Conf](),
	From:     true,
	Rules:    true,
	Defaults: defaults,
	Acts:     acts,
	Docs:     docs,
	Example:  example,
}

// acts: only requests are counted one by one; connections are with any protocol.
func acts(path string, p api.Protocol) bool {
	return p.HTTPLike() || !strings.HasPrefix(path, "local.http.")
}

// tooManyRequests is Envoy's answer where a policy names none.
const tooManyRequests = 429

func defaults() policies.Conf {
	status := uint32(tooManyRequests)
	return &Conf{Local: &Local{HTTP: &HTTP{OnRateLimit: &OnRateLimit{Status: &status}}}}
}
