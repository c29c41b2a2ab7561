package differential

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/golden"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/balance"
	"github.com/weftmesh/weft/sim/lookup"
)

// hold says how Envoys differ from what a story says of a request; it is empty where
// they do not.
func (f *storyFleet) hold(s *scene, q golden.Asked) string {
	w := s.from(q.From)
	if w == nil {
		return "there is no such dataplane; the story must say why it asks"
	}
	p := s.pair(q)
	v, err := sim.Run(s.Model, w.Resolved.Ref, p.Request)
	at, listens := f.comesTo(s, w, p, &v)
	switch {
	case err != nil:
		return f.nobody(p, at, listens, err)
	case !listens && v.Branches[0].Outcome == sim.Passthrough:
		return "" // nobody redirects it
	case !listens:
		return "no listener of the dataplane is for it"
	case bare(p) || !w.read(&v):
		return f.connection(p, at, &v)
	}
	said := whileLate(func() (said string, late bool) { return f.once(s, w, p, at) })
	if said == "" && byChance(&v) && q.Answers == "" {
		said = f.shares(s, w, p, at, &v)
	}
	return said
}

// pair is a request as it is sent: workloads answer, and so does the authorization service.
func (s *story) pair(q golden.Asked) Pair {
	p := Pair{Request: q.Request}
	if !bare(p) {
		p.Request.Answers, p.Request.Method = cmp.Or(q.Answers, "200"), cmp.Or(q.Method, http.MethodGet)
	}
	if s.Authorizer != nil {
		p.Request.Authz = cmp.Or(q.Authz, "allow")
	}
	return p
}

// bare reports whether p is a connection without a request.
func bare(p Pair) bool { return strings.HasPrefix(p.Request.URL, "tcp://") }

// read reports whether the caller's sidecar reads the request.
func (w *World) read(v *sim.Verdict) bool {
	if v.Destination == nil {
		return v.Branches[0].Outcome != sim.Passthrough
	}
	return !slices.ContainsFunc(w.Resolved.Outbounds, func(o *effective.Outbound) bool { return leads(o, v.Destination) && o.Table == nil })
}

// comesTo is where on loopback a client comes with a request.
func (f *storyFleet) comesTo(s *scene, w *World, p Pair, v *sim.Verdict) (netip.AddrPort, bool) {
	for _, at := range w.comesTo(p.Request, v) {
		if place, ok := f.listens(s, w.Resolved.Ref.FullName(), at); ok {
			return place, true
		}
	}
	return netip.AddrPort{}, false
}

// nobody holds a request that the simulator says reaches nobody: there is no listener for
// it, or one that does not answer it, or lets it pass.
func (f *storyFleet) nobody(p Pair, at netip.AddrPort, listens bool, why error) string {
	var unreached *lookup.NotReached
	if !errors.As(why, &unreached) {
		return "sim: " + why.Error()
	}
	if !listens {
		return ""
	}
	o, err := f.send(at, p, fmt.Sprintf("%08d", asked.Add(1)))
	if err != nil {
		return "ask: " + err.Error()
	}
	passed := len(o.Attempts) == 1 && o.Attempts[0].Workload == elsewhere
	if o.Status != 0 && !passed {
		return fmt.Sprintf("sim: %v; Envoy %s", why, o.text())
	}
	return ""
}

// once asks once; late reports whether a bound of time may have had a part in it.
func (f *storyFleet) once(s *scene, w *World, p Pair, at netip.AddrPort) (said string, late bool) {
	began, id := time.Now(), fmt.Sprintf("%08d", asked.Add(1))
	o, err := f.send(at, p, id)
	if err != nil {
		return "ask: " + err.Error(), false
	}
	late = o.late(began)
	p = p.sent(id)
	o.forget(w)
	v, err := sim.Run(s.Model, w.Resolved.Ref, p.Request)
	if err != nil {
		return "sim: " + err.Error(), late
	}
	o.unfill(&v)
	var reasons []string
	for i := range v.Branches {
		one := v
		one.Branches = v.Branches[i : i+1]
		said := disagreement(w, p, &one, o)
		if said == "" {
			said = s.chosen(w, &one.Branches[0], o)
		}
		if said == "" && len(o.Attempts) > 0 {
			said = f.arrived(&one.Branches[0], o)
		}
		if said == "" {
			return "", late
		}
		reasons = append(reasons, said)
	}
	return strings.Join(reasons, "\n"), late
}

// forget takes away what verdicts leave out as an addition of Envoy's: the cookie of a
// session.
func (o *Observed) forget(w *World) {
	for _, out := range w.Resolved.Outbounds {
		if out.Table == nil {
			continue
		}
		for _, rt := range out.Table.Routes {
			for _, k := range balance.Hash(rt) {
				if rt.Name == o.Route && k.Session && strings.HasPrefix(o.Headers.Get("set-cookie"), k.Cookie+"=") {
					o.Headers.Del("set-cookie")
				}
			}
		}
	}
}

// hostname is what Envoys call the machine, which verdicts do not know: they have the
// name of the value in its place.
var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // none: then it is not found in any header
	return name
})

// unfill puts that name in the place of what Envoy wrote for it.
func (o *Observed) unfill(v *sim.Verdict) {
	const unknown = "%HOSTNAME%"
	for _, b := range v.Branches {
		if b.Forwarded == nil {
			continue
		}
		for name, value := range b.Forwarded.Headers {
			filled := strings.ReplaceAll(value, unknown, hostname())
			for _, c := range o.Attempts {
				if filled != value && c.Headers.Get(name) == filled {
					c.Headers.Set(name, value)
				}
			}
		}
	}
}

// chosen holds the cluster that Envoy chose against the backends of a branch, for one
// workload may be behind several.
func (s *scene) chosen(w *World, b *sim.Branch, o *Observed) string {
	if len(o.Attempts) == 0 {
		return ""
	}
	got := w.clusterText(s.cluster(w.Resolved.Ref.FullName(), o.Cluster))
	for _, x := range b.Backends {
		if x.Share > 0 && backendText(x.Name, x.Namespace, x.Port, x.Tags) == got {
			return ""
		}
	}
	return fmt.Sprintf("cluster: sim %+v, Envoy %s", b.Backends, got)
}

// arrived compares how many copies came: as many as are certain, and no more than are
// possible.
func (f *storyFleet) arrived(b *sim.Branch, o *Observed) string {
	certain := 0
	for _, x := range b.Mirrors {
		if x.Share == 1 {
			certain++
		}
	}
	count := func() int {
		_, copies := f.room.workloads.Calls(o.id)
		return len(copies)
	}
	envoytest.Settle(func() bool { return count() >= certain })
	if got := count(); got < certain || got > len(b.Mirrors) {
		return fmt.Sprintf("mirrors: sim %d to %d copies, the workloads got %d", certain, len(b.Mirrors), got)
	}
	return ""
}
