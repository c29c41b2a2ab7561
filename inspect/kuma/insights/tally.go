package insights

import (
	"cmp"

	"github.com/weftmesh/weft/api"
)

// Tally counts the dataplanes of a mesh as its insight tells of them. Each is counted and taken
// back by itself, so that counts are kept while dataplanes and their sidecars change. It is for
// one goroutine.
type Tally struct {
	planes         Counts
	by             map[string]*Counts // by class
	agents, envoys map[string]*Counts // by version
	roots          map[string]*Counts // by that of their certificates
	services       map[string]*service
}

// service is one that dataplanes are of.
type service struct {
	counts         Counts
	classes, zones map[string]int // of its dataplanes
	roots          map[string]int // of their certificates
}

// NewTally counts nothing yet.
func NewTally() *Tally {
	return &Tally{by: map[string]*Counts{}, agents: map[string]*Counts{}, envoys: map[string]*Counts{}, roots: map[string]*Counts{}, services: map[string]*service{}}
}

// Add counts a dataplane.
func (t *Tally) Add(n *api.Networking, seen Seen) { t.count(n, seen, 1) }

// Remove takes back one that was counted so.
func (t *Tally) Remove(n *api.Networking, seen Seen) { t.count(n, seen, -1) }

func (t *Tally) count(n *api.Networking, seen Seen, by int) {
	is, class := state(n, seen), classOf(n)
	t.planes.add(is, by)
	count(t.by, class, is, by)
	count(t.agents, seen.Agent, is, by)
	count(t.envoys, seen.Envoy, is, by)
	count(t.roots, seen.Root, is, by)
	for name, tags := range servicesOf(n) {
		x := t.services[name]
		if x == nil {
			x = &service{classes: map[string]int{}, zones: map[string]int{}, roots: map[string]int{}}
			t.services[name] = x
		}
		x.counts.add(is, by)
		add(x.classes, class, by)
		add(x.zones, tags["kuma.io/zone"], by)
		add(x.roots, seen.Root, by)
		if x.counts.Total == 0 {
			delete(t.services, name)
		}
	}
}

// class is that of its dataplanes; of several the first in this order.
func (x *service) class() string {
	for _, class := range []string{"standard", "gatewayBuiltin"} {
		if x.classes[class] > 0 {
			return class
		}
	}
	return "gatewayDelegated"
}

// byClass counts those of each class, and of gateways together.
func (t *Tally) byClass() map[string]Counts {
	out := values(t.by)
	for _, class := range []string{"standard", "gatewayBuiltin", "gatewayDelegated"} {
		out[class] = *cmp.Or(t.by[class], &Counts{})
	}
	a, b := out["gatewayBuiltin"], out["gatewayDelegated"]
	out["gateway"] = a.plus(b)
	return out
}

// count counts under a key, unless that is empty, and keeps no zeros.
func count(all map[string]*Counts, key, is string, by int) {
	if key == "" {
		return
	}
	n := all[key]
	if n == nil {
		n = &Counts{}
		all[key] = n
	}
	if n.add(is, by); n.Total == 0 {
		delete(all, key)
	}
}

func add(all map[string]int, key string, by int) {
	if key == "" {
		return
	}
	if all[key] += by; all[key] == 0 {
		delete(all, key)
	}
}

func values(all map[string]*Counts) map[string]Counts {
	out := make(map[string]Counts, len(all))
	for key, n := range all {
		out[key] = *n
	}
	return out
}
