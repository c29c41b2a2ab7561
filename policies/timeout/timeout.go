// Package timeout is the policy MeshTimeout: bounds of connections and requests
// in time (spec/kuma.md 3.2).
//
// It promises that 0s, which switches a bound off, reaches Envoy as such and is
// never mistaken for a bound that nobody set.
package timeout

import (
	_ "embed"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

//go:embed initial.yaml
var initial string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:       "MeshTimeout",
	Plural:     "meshtimeouts",
	Short:      "mt",
	Title:      "Bounds connections and requests in time",
	New:        func() policies.Conf { return new(Conf) },
	Schema:     policies.SchemaOf[Conf](),
	From:       true,
	Rules:      true,
	RulesAlone: true,
	Defaults:   defaults,
	OnAttempts: true,
	Applies:    acts,
	Scoped:     scoped,
	Relaxes:    looser,
	Explains: map[policies.EndWords][]string{
		policies.EndRequestTimeout:    {"http.requestTimeout"},
		policies.EndConnectionTimeout: {"connectionTimeout"},
		policies.EndStreamIdle:        {"http.streamIdleTimeout"},
		policies.EndMaxDuration:       {"http.maxStreamDuration"},
	},
	Initial: &policies.Initial{Name: "mesh-timeout-all-", Spec: initial},
	Docs:    docs,
	Example: example,
}

// acts: only requests have the bounds of requests.
func acts(path string, p api.Protocol) bool {
	return p.HTTPLike() || !strings.HasPrefix(path, "http.")
}

// scoped: on connections in which nobody looks for requests the listener bounds the silence.
func scoped(path string, scope policies.Scope, p api.Protocol) policies.Scope {
	if path == "idleTimeout" && !p.HTTPLike() {
		return policies.OnListener
	}
	return scope
}

// looser: every field is a bound in time, and 0s is none.
func looser(_ string, before, after any) bool {
	b, ok := before.(*api.Duration)
	a, same := after.(*api.Duration)
	return ok && same && *b != 0 && (*a == 0 || *a > *b)
}

// defaults is the table of spec/kuma.md 3.2. The bounds that are off by default
// are not in it: nobody set them.
func defaults() policies.Conf {
	return &Conf{
		ConnectionTimeout: duration(5 * time.Second),
		IdleTimeout:       duration(time.Hour),
		HTTP: &HTTP{
			RequestTimeout:    duration(15 * time.Second),
			StreamIdleTimeout: duration(30 * time.Minute),
		},
	}
}

func duration(d time.Duration) *api.Duration {
	v := api.Duration(d)
	return &v
}
