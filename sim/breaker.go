package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/timeline"
)

// Breaker is a conf that bounds what is under way to a cluster at one time. How much that is when a request
// comes, nobody knows who sees only the request: it is told, and makes no branch.
type Breaker interface {
	// Bounds are those which somebody has to know of: not those that hold in every cluster.
	Bounds(spoken api.Protocol) []Bound
	// Limits are how many connections and requests are under way at most, those that hold in every cluster too.
	Limits() (connections, requests Limit)
}

// Limit is a number, and the leaf that says so; 0 where the conf says none.
type Limit struct {
	Most  uint32
	Field string
}

// Bound is a limit of what is under way.
type Bound struct {
	Most  string // of what, in words: 200 requests
	Over  string // what becomes of what is over it: 503 (UO)
	Field string // the leaf that says so
	// Retries says that it is about retries: then those which are built in do not hold.
	Retries bool
}

// Ejector is a conf that leaves endpoints out for a while, for how they answer.
type Ejector interface {
	Ejections(spoken api.Protocol) []Ejection
	// Ejects is how many may be left out; not ok where outlier detection is off.
	Ejects() (e Ejects, ok bool)
}

// Ejects is how many endpoints a conf may leave out.
type Ejects struct {
	// Nobody is the leaf by which failures are counted and nothing follows; empty where something does.
	Nobody string
	// All is the leaf by which all may be left out, and none is used then; empty where some always are.
	All string
	// Compared are how many endpoints there have to be so that some are compared, with the leaf that says so.
	Compared []Limit
}

// Ejection leaves out an endpoint that fails several times in a row.
type Ejection struct {
	After  uint32 // failures in a row
	For    time.Duration
	Fails  func(status uint32) bool // an answer
	Unsent bool                     // that an endpoint cannot be reached, or ends the connection, counts too
	Unless string                   // where that does not keep it from being used, in words
	Field  string                   // the leaf that says so
}

// said is by whom a field is, in words; empty where no document says it.
func said(e *policies.Effective, field string) string {
	f, ok := e.Get(field)
	if !ok || e.Author(field) == "" {
		return ""
	}
	return " (" + f.Winner().Origin.Ref.String() + ")"
}

// usedBy yields the policies of the clusters of backends that get something, with how people call them.
func (t trace) usedBy(list []effective.Backend, yield func(name string, use *effective.ClusterUse)) {
	seen := map[string]bool{}
	for _, b := range list {
		use := t.from.ClusterNamed(b.Cluster)
		if !b.Gets() || use.Cluster == nil || seen[b.Cluster] {
			continue
		}
		seen[b.Cluster] = true
		yield(b.Name, &use)
	}
}

// doubtEndpoints says what decides about a request that is sent to the backends of rt, beside what it is.
func (t trace) doubtEndpoints(b *Branch, rt *effective.Route, spoken api.Protocol) {
	t.doubtEndpoint(b, rt)
	t.bounded(b, rt.Backends, spoken)
	t.checked(b, rt.Backends, spoken)
}

// bounded says of what is sent to backends where it may be too much.
func (t trace) bounded(b *Branch, list []effective.Backend, spoken api.Protocol) {
	t.usedBy(list, func(name string, use *effective.ClusterUse) {
		for _, e := range use.Policies {
			x, ok := e.Conf.(Breaker)
			if !ok {
				continue
			}
			for _, l := range x.Bounds(spoken) {
				b.unknown = append(b.unknown, fmt.Sprintf("limits: of more than %s to %s at one time from this dataplane the rest is %s%s", l.Most, name, l.Over, said(e, l.Field)))
			}
		}
	})
}

// retriesBounded reports whether a policy says how many retries may be under way to one of the backends.
func (t trace) retriesBounded(list []effective.Backend, spoken api.Protocol) (bounded bool) {
	t.usedBy(list, func(_ string, use *effective.ClusterUse) {
		for _, e := range use.Policies {
			if x, ok := e.Conf.(Breaker); ok {
				bounded = bounded || slices.ContainsFunc(x.Bounds(spoken), func(b Bound) bool { return b.Retries })
			}
		}
	})
	return bounded
}

// ejected says where as many failures in a row as the attempts have would leave an endpoint out: all attempts
// of a request may come to one, and so may those of others.
func (t trace) ejected(list []effective.Backend, spoken api.Protocol, runs []played) (unknown []string) {
	t.usedBy(list, func(name string, use *effective.ClusterUse) {
		for _, e := range use.Policies {
			x, ok := e.Conf.(Ejector)
			if !ok {
				continue
			}
			for _, j := range x.Ejections(spoken) {
				n := 0
				for _, r := range runs {
					n = max(n, j.failures(r.attempts))
				}
				if n == 0 {
					continue
				}
				text := fmt.Sprintf("answers: %d such failures in a row of one endpoint of %s leave it out for %s, and for as long again each further time%s", j.After, name, api.Duration(j.For), said(e, j.Field))
				if uint32(n) >= j.After {
					text += fmt.Sprintf("; the %d of this request are enough where they come to one endpoint", n)
				}
				if j.Unless != "" {
					text += "; " + j.Unless
				}
				unknown = append(unknown, text)
			}
		}
	})
	return unknown
}

// failures is how many attempts in a row count as failures, at most.
func (j *Ejection) failures(list []timeline.Attempt) (most int) {
	n := 0
	for _, a := range list {
		fails := j.Fails(a.Status)
		if slices.Contains([]timeline.Ended{timeline.ByReset, timeline.ByRefusal}, a.Ended) {
			fails = j.Unsent
		}
		if n++; !fails {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// Checker is a conf by which a proxy checks endpoints by itself.
type Checker interface {
	// Checks is how, in words, and the leaf that says so; not ok where none are checked.
	Checks(spoken api.Protocol) (how, field string, ok bool)
	// Rate is how often an endpoint is checked, and how long an answer may take, with the leaves that say so.
	Rate(spoken api.Protocol) (each, wait time.Duration, eachField, waitField string)
	// Probe is the path that the called side is asked for; not ok where it is asked for none.
	Probe(spoken api.Protocol) (path string, ok bool)
}

// checked says of backends whose endpoints are checked that which of them are well decides.
func (t trace) checked(b *Branch, list []effective.Backend, spoken api.Protocol) {
	t.usedBy(list, func(name string, use *effective.ClusterUse) {
		for _, e := range use.Policies {
			x, ok := e.Conf.(Checker)
			if !ok {
				continue
			}
			if how, field, ok := x.Checks(spoken); ok {
				b.unknown = append(b.unknown, fmt.Sprintf("health: endpoints of %s are checked (%s), and those that fail get nothing%s", name, how, said(e, field)))
			}
		}
	})
}
