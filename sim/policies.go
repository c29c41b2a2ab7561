package sim

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// PolicyViews shows policies with who set each of their fields, where a protocol is spoken.
func PolicyViews(list effective.Policies, spoken api.Protocol) map[string]Policy {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]Policy, len(list))
	for _, e := range list {
		p := Policy{Conf: e.Conf, Why: make(map[string][]Opinion, len(e.Fields))}
		for _, f := range e.Fields {
			said := make([]Opinion, len(f.Said))
			for i, s := range f.Said {
				said[i] = saidOf(s)
			}
			path := e.Kind.Schema.Leaves[f.Field].Path
			p.Why[path] = said
			p.implies(e, path)
			if !e.Applies(f.Field, spoken) {
				p.Idle = append(p.Idle, path)
			}
		}
		p.replaced(e)
		out[e.Kind.Name] = p
	}
	return out
}

// replaced adds the fields that do not hold, because a stronger layer says an alternative of them.
func (p *Policy) replaced(e *policies.Effective) {
	for _, f := range e.Replaced {
		if f.Winner().Layer == merge.Default {
			continue // which nobody wrote
		}
		x := ReplacedField{By: f.Path}
		for _, s := range f.Said {
			x.Said = append(x.Said, saidOf(s))
		}
		if p.Replaced == nil {
			p.Replaced = map[string]ReplacedField{}
		}
		p.Replaced[e.Kind.Schema.Leaves[f.Field.Field].Path] = x
	}
}

// implies adds what a field comes to in Envoy beside what it says.
func (p *Policy) implies(e *policies.Effective, path string) {
	if e.Kind.Implies == nil {
		return
	}
	also, keeps := e.Kind.Implies(e.Conf, path)
	if len(also) > 0 {
		if p.Implied == nil {
			p.Implied = map[string][]string{}
		}
		p.Implied[path] = also
	}
	said := p.Why[path]
	for i := range said[:len(said)-1] {
		said[i].Holds = keeps != nil && keeps(said[i].Value)
	}
}

func saidOf(s merge.Said) Opinion {
	return Opinion{Value: s.Value, Origin: s.Origin, Layer: s.Layer.String(), Override: s.Override, Lost: s.Lost.String()}
}

// answersItself says why nothing of a policy on attempts acts on a route.
const answersItself = "where nothing is forwarded"

// RoutePolicies shows the policies of a route of r. Where the proxy answers by itself
// nothing is attempted, so retries and timeouts are idle; where it always does, they
// are no part of what is effective. What is said about connections is idle where the route
// leads to none but other backends, which have their own: see Onward. Without r that is not known.
func RoutePolicies(r *effective.Resolved, rt *effective.Route, spoken api.Protocol) map[string]Policy {
	views := PolicyViews(rt.Policies, spoken)
	if forwards(rt) {
		_, idle := onward(r, rt.Policies, rt.Backends, spoken)
		leaving(views, rt.Policies, idle)
		return views
	}
	for _, e := range rt.Policies {
		if !e.Kind.OnAttempts {
			continue
		}
		p := views[e.Kind.Name]
		p.Idle, p.IdleReason = nil, answersItself
		for _, f := range e.Fields {
			p.Idle = append(p.Idle, e.Kind.Schema.Leaves[f.Field].Path)
		}
		if rt.Answer != nil {
			p.Conf = e.Kind.New()
		}
		views[e.Kind.Name] = p
	}
	return views
}

// Policy is what one kind does to the request, and who set each field.
type Policy struct {
	Conf any                  `json:"conf"`
	Why  map[string][]Opinion `json:"why"`
	// Idle are the fields without effect there: on the protocol that is spoken, or
	// for IdleReason.
	Idle       []string `json:"idle,omitempty"`
	IdleReason string   `json:"idleReason,omitempty"`
	// Implied is what Envoy has beside what a field says, because of it, in Envoy's words.
	Implied map[string][]string `json:"implied,omitempty"`
	// Replaced are fields of which nothing holds, because a stronger document sets an alternative of them.
	Replaced map[string]ReplacedField `json:"replaced,omitempty"`
	// Buckets is how many buckets a limit has at the destination, where it is more
	// than one: each admits the whole rate.
	Buckets int `json:"buckets,omitempty"`
}

// ReplacedField is what was said of a field that does not hold, and the field that stands in its place.
type ReplacedField struct {
	By   string    `json:"by"`
	Said []Opinion `json:"said"`
}

// All yields what was said of each field, be it that another stands in its place.
func (p *Policy) All() iter.Seq2[string, []Opinion] {
	return func(yield func(string, []Opinion) bool) {
		for path, said := range p.Why {
			if !yield(path, said) {
				return
			}
		}
		for path, x := range p.Replaced {
			if !yield(path, x.Said) {
				return
			}
		}
	}
}

// Logger is the conf of a policy that writes a line of a request or connection. It changes nothing of
// what becomes of that, so that it makes no branch.
type Logger interface {
	// LogsTo are the places to which lines go, as people name them.
	LogsTo() []string
	// LogsField is the path of the field whose authors say so.
	LogsField() string
}

// Logged is where lines go by a policy, and who says so; none where none are written.
func (p *Policy) Logged() (to []string, by []*api.Origin) {
	l, ok := p.Conf.(Logger)
	if !ok || len(l.LogsTo()) == 0 {
		return nil, nil
	}
	said := p.Why[l.LogsField()]
	for i := range said {
		if i == len(said)-1 || said[i].Lost == "" {
			by = append(by, said[i].Origin)
		}
	}
	return l.LogsTo(), by
}

// Opinion is one opinion about a field, weakest first in a list; the last holds.
type Opinion struct {
	Value  any         `json:"value"`
	Origin *api.Origin `json:"origin"`
	Layer  string      `json:"layer,omitempty"`
	// Override says that it was given under override: over what is nearer to the route.
	Override bool `json:"override,omitempty"`
	// Lost is the key of the order that decided against it; empty where it holds.
	Lost string `json:"lost,omitempty"`
	// Holds says that it lost, and that what won comes to it all the same.
	Holds bool `json:"holds,omitempty"`
}

// Joined reports whether nothing replaces it: the last, and of what adds up the others beside it.
func (s *Opinion) Joined() bool { return s.Lost == "" }

func (p *Policy) drop(path string) {
	delete(p.Why, path)
	delete(p.Replaced, path)
	p.Idle = slices.DeleteFunc(p.Idle, func(idle string) bool { return idle == path })
}

// What is said about connections holds for the cluster that they are opened to. A rule that leads to
// another destination, or to a subset, has the clusters of its backends, each with its own authors.

// onCluster reports whether a field holds by the cluster that something is sent to, where a protocol
// is spoken.
func onCluster(e *policies.Effective, field int, spoken api.Protocol) bool {
	return e.Kind.ScopeOf(field, spoken) == policies.OnCluster
}

// connectionViews is what is said about the connections to a cluster.
func connectionViews(u *effective.ClusterUse) map[string]Policy {
	out := PolicyViews(u.Policies, u.Protocol())
	for _, e := range u.Policies {
		p := out[e.Kind.Name]
		for _, f := range e.Fields {
			if !onCluster(e, f.Field, u.Protocol()) { // it stands at the listener
				p.drop(e.Kind.Schema.Leaves[f.Field].Path)
			}
		}
		if len(p.Why) == 0 {
			delete(out, e.Kind.Name)
		} else {
			out[e.Kind.Name] = p
		}
	}
	return out
}

// onward is how a list of policies, said of a destination or of a rule for it, and what is said about
// the connections to its backends go together. Backends are those that something falls to, in their
// order: nil where all of them have what the list says. Idle are the fields of the list, by kind, that
// hold at none of them.
func onward(r *effective.Resolved, list effective.Policies, backends []effective.Backend, spoken api.Protocol) (views []map[string]Policy, idle map[string][]int) {
	if r == nil {
		return nil, nil
	}
	held := map[*policies.Effective]map[int]bool{} // fields of the list that some backend has
	differs, some := false, false
	for n, b := range effective.Sharing(backends) {
		views = slices.Grow(views, n+1)[:n+1]
		use := r.ClusterNamed(b.Cluster)
		if use.Cluster == nil {
			continue
		}
		some = true
		views[n] = connectionViews(&use)
		fields := 0
		for _, e := range list {
			for _, f := range e.Fields {
				if !onCluster(e, f.Field, spoken) {
					continue
				}
				fields++
				path := e.Kind.Schema.Leaves[f.Field].Path
				said := views[n][e.Kind.Name].Why[path]
				if len(said) == 0 || !sameSaid(said[len(said)-1], saidOf(f.Winner())) {
					differs = true
					continue
				}
				if held[e] == nil {
					held[e] = map[int]bool{}
				}
				held[e][f.Field] = true
			}
		}
		for _, p := range views[n] {
			fields -= len(p.Why)
		}
		differs = differs || fields != 0
	}
	if !some || !differs {
		return nil, nil
	}
	for _, e := range list {
		for _, f := range e.Fields {
			if onCluster(e, f.Field, spoken) && !held[e][f.Field] {
				if idle == nil {
					idle = map[string][]int{}
				}
				idle[e.Kind.Name] = append(idle[e.Kind.Name], f.Field)
			}
		}
	}
	return views, idle
}

// sameSaid reports whether two opinions are one.
func sameSaid(a, b Opinion) bool {
	return a.Override == b.Override && (a.Origin == b.Origin || a.Origin != nil && b.Origin != nil && a.Origin.Same(b.Origin)) && policies.SameValue(a.Value, b.Value)
}

// leaving marks the fields of views that hold at no backend as idle, and takes them out of the confs.
func leaving(views map[string]Policy, list effective.Policies, idle map[string][]int) {
	for _, e := range list {
		fields := idle[e.Kind.Name]
		if len(fields) == 0 {
			continue
		}
		p := views[e.Kind.Name]
		kept := slices.Clone(e.Fields)
		for _, field := range fields {
			i := slices.IndexFunc(kept, func(f merge.Field) bool { return f.Field == field })
			kept = slices.Delete(kept, i, i+1)
			if path := e.Kind.Schema.Leaves[field].Path; !slices.Contains(p.Idle, path) {
				p.Idle = append(p.Idle, path)
			}
		}
		if p.IdleReason == "" { // else nothing at all of it acts
			p.Conf = e.Kind.Schema.Build(e.Kind.New(), kept)
		}
		views[e.Kind.Name] = p
	}
}

// Onward is what is said about the connections to each backend of a list of policies, in the order of
// effective.Sharing; nil where all of them have what the list says.
func Onward(r *effective.Resolved, list effective.Policies, backends []effective.Backend, spoken api.Protocol) []map[string]Policy {
	views, _ := onward(r, list, backends, spoken)
	return views
}

// ConnectionPolicies shows what is said of whole connections where they go to backends.
func ConnectionPolicies(r *effective.Resolved, o *effective.Outbound, backends []effective.Backend) map[string]Policy {
	out := PolicyViews(o.Policies, o.Protocol())
	_, idle := onward(r, o.Policies, backends, o.Protocol())
	leaving(out, o.Policies, idle)
	return out
}
