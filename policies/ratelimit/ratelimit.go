// Package ratelimit is the policy MeshRateLimit: buckets of tokens for requests
// and connections (spec/kuma.md 3.3).
//
// It promises that disabled switches off what weaker policies set, and that a
// policy which sets only the answer limits nothing.
package ratelimit

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
	Name:     "MeshRateLimit",
	Plural:   "meshratelimits",
	Short:    "mrl",
	Title:    "Limits how often a service or a route is called",
	New:      func() policies.Conf { return new(Conf) },
	Schema:   policies.SchemaOf[Conf](),
	From:     true,
	Rules:    true,
	Defaults: defaults,
	Applies:  acts,
	Requires: needs,
	Relaxes:  looser,
	Explains: map[policies.EndWords][]string{policies.EndRateLimit: {"local.http.requestRate"}},
	Switches: map[string]string{"local.http.disabled": "local.http.requestRate", "local.tcp.disabled": "local.tcp.connectionRate"},
	Docs:     docs,
	Example:  example,
}

// acts: only requests are counted one by one; connections are with any protocol.
func acts(path string, p api.Protocol) bool {
	return p.HTTPLike() || !strings.HasPrefix(path, "local.http.")
}

// needs: a limit is one by its rate, unless it is disabled.
func needs(conf policies.Conf, path string) string {
	c := conf.(*Conf)
	rate, disabled, name := false, false, "requestRate"
	switch {
	case strings.HasPrefix(path, "local.http.") && c.Local != nil && c.Local.HTTP != nil:
		rate, disabled = c.Local.HTTP.RequestRate != nil, isTrue(c.Local.HTTP.Disabled)
	case strings.HasPrefix(path, "local.tcp.") && c.Local != nil && c.Local.TCP != nil:
		rate, disabled, name = c.Local.TCP.ConnectionRate != nil, isTrue(c.Local.TCP.Disabled), "connectionRate"
	}
	switch {
	case disabled && !strings.HasSuffix(path, ".disabled"):
		return "the limit is disabled"
	case !rate && !disabled:
		return "no " + name + " is set"
	}
	return ""
}

// looser: a rate that lets more through in the same time, or none at all.
func looser(_ string, before, after any) bool {
	switch b := before.(type) {
	case *Rate:
		a, ok := after.(*Rate)
		return ok && a.perSecond() > b.perSecond()
	case *bool:
		a, ok := after.(*bool)
		return ok && *a && !*b
	}
	return false
}

func (r *Rate) perSecond() float64 {
	return float64(*r.Num) / time.Duration(*r.Interval).Seconds()
}

// AsOverride says beside a rate that the limit is on: a route that disabled its
// limit has a rate again.
func (c *Conf) AsOverride() policies.Conf {
	if c.Local == nil {
		return c
	}
	local, on := *c.Local, false
	if h := local.HTTP; h != nil && h.RequestRate != nil && h.Disabled == nil {
		both := *h
		both.Disabled, local.HTTP = &on, &both
	}
	if t := local.TCP; t != nil && t.ConnectionRate != nil && t.Disabled == nil {
		both := *t
		both.Disabled, local.TCP = &on, &both
	}
	return &Conf{Local: &local}
}

// tooManyRequests is Envoy's answer where a policy names none.
const tooManyRequests = 429

func defaults() policies.Conf {
	status := uint32(tooManyRequests)
	return &Conf{Local: &Local{HTTP: &HTTP{OnRateLimit: &OnRateLimit{Status: &status}}}}
}
