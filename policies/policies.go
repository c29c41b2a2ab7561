// Package policies says what a kind of policy is: its envelope, its conf, where
// each field of the conf takes effect, and how several confs become one.
//
// A kind is a value. What it does to Envoy it says by implementing interfaces
// that package xds declares, and how it behaves at run time by those of package
// sim; this package knows neither.
package policies

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Conf is what a policy sets: the part under default. It is a pointer to a
// struct whose leaves carry a weft tag (see Schema).
type Conf interface {
	// Validate reports every mistake of the conf itself below at: nil, or a
	// *multierror.Error of *api.Violation.
	Validate(at api.Path) error
}

// Kind is all that the engine knows of one kind of policy.
type Kind struct {
	Name   string // MeshRetry
	Plural string // meshretries
	Short  string // mr
	Title  string // one line for people
	New    func() Conf
	Schema *Schema
	// From and Rules say that the kind has an inbound side in these forms.
	From, Rules bool
	// Single says that a document has one conf in place of lists: what it says, it says of all that the
	// dataplanes call, and of all that comes in at them (spec/kinds.md 0.2).
	Single bool
	// SingleOnRoutes lets the ref at the top of a document in the single form name a route; the
	// document then sets fields of scope route alone.
	SingleOnRoutes bool
	// OfDataplanes says that what documents in the single form come to holds of a dataplane as a whole, once: of
	// nothing that it calls, and of nothing that comes in at it.
	OfDataplanes bool
	// Inbound says that the kind is about what comes in alone: it has no to, and no route
	// to target.
	Inbound bool
	// TopKinds are the kinds of refs at the top; nil for those of every kind.
	TopKinds []string
	// RulesAlone says that rules stand beside neither from nor to; else only not
	// beside from.
	RulesAlone bool
	// Defaults are the built-in values that take part, as the weakest layer,
	// where something of the same group is set; nil where there are none.
	Defaults func() Conf
	// OnAttempts says that all it does to requests it does as they are forwarded: nothing
	// where the proxy answers by itself.
	OnAttempts bool
	// Applies reports whether the field at a path has an effect where the destination,
	// or the workload, speaks p; nil where every field always has one.
	Applies func(path string, p api.Protocol) bool
	// Implies is what the value that holds at a path comes to in Envoy beside what it says, in
	// Envoy's words, and whether a value that lost holds by that all the same. It is nil where
	// every value says all that it comes to.
	Implies func(c Conf, path string) (also []string, keeps func(value any) bool)
	// Scoped is the scope of the field at a path where p is spoken; nil where it is always that
	// which its tag has.
	Scoped func(path string, scope Scope, p api.Protocol) Scope
	// Requires says what keeps the field at a path without effect among the others of
	// c, as 'no requestRate is set'; empty for nothing. It is nil where every field
	// has its effect by itself.
	Requires func(c Conf, path string) string
	// IdleAt is Requires where that depends on what is spoken: why the field at a path of c has no effect
	// there. It is nil where it does not.
	IdleAt func(c Conf, path string, p api.Protocol) string
	// Relaxes reports whether the value after bounds less than before does in the
	// field at path; nil where no field is a bound.
	Relaxes func(path string, before, after any) bool
	// Explains are the fields whose values are behind how Envoy ends requests, by the words for that.
	Explains map[EndWords][]string
	// Switches are the fields that switch off what another field sets, by path.
	Switches map[string]string
	// Alternatives are fields and blocks of which one stands in the place of the other: what a stronger
	// layer says of one takes away what weaker ones say of the other.
	Alternatives []Alternatives
	// FromKinds are the kinds of refs in from; nil for Mesh alone.
	FromKinds []string
	// FromBesideRules lets a document have from and rules.
	FromBesideRules bool
	// NoMatches says that rules have no matches: all callers meet them.
	NoMatches bool
	// Authorizer is what a kind does whose confs say who may come in; nil for a kind of which
	// the strongest conf holds, field by field.
	Authorizer Authorizer
	// TransportSecurity is what a kind does whose confs say how inbounds take mutual TLS; nil for
	// the others.
	TransportSecurity TransportSecurity
	// RulesAddUp says that each rule holds whose matches a caller meets: their lists hold together, and a
	// stronger one replaces none.
	RulesAddUp bool
	// RulesOnRoutes lets the ref at the top of a document with rules name a route that tells
	// requests apart: the rules hold where its requests arrive.
	RulesOnRoutes bool
	// Check reports the mistakes that its parts make together, in a document of the kind
	// that stands at at; nil where there are none.
	Check func(s *Spec, at api.Path) error
	// Warns reports what a document of the kind says that is sound, and does more than it reads as
	// where it takes part in what is real; nil where there is nothing.
	Warns func(s *Spec, at api.Path) error
	// ByProducers reports what a document of the kind may not have that is about sidecars of other namespaces
	// than its own; nil where it may have all.
	ByProducers func(s *Spec, at api.Path) error
	// Initial is the document of the kind that comes with a new mesh; nil where none does.
	Initial *Initial
	// Docs says of each path of the conf, blocks included, what it is for. It is
	// generated from the comments of the conf's type.
	Docs map[string]string
	// Example is a stream of documents that show the kind in use.
	Example string
}

// Initial is a document without its head, for each new mesh: what would hold anyway becomes visible, and can
// be edited.
type Initial struct {
	Name string // before that of the mesh
	Spec string // the field spec of the document
	// Earlier are the texts of Spec that earlier releases wrote: a document that is exactly one of them is
	// written anew.
	Earlier []string
}

// Scope is where in Envoy a field takes effect.
type Scope string

// The scopes. Only Route fields may be set by a policy that targets a route.
const (
	OnRoute    Scope = "route"
	OnCluster  Scope = "cluster"
	OnListener Scope = "listener"
)

// ScopeOf is where a field takes effect where a protocol is spoken.
func (k *Kind) ScopeOf(field int, p api.Protocol) Scope {
	leaf := k.Schema.Leaves[field]
	if k.Scoped != nil {
		return k.Scoped(leaf.Path, leaf.Scope, p)
	}
	return leaf.Scope
}

// Effective is the answer for one kind at one place: the conf that holds, and
// for each of its fields who said what.
type Effective struct {
	Kind   *Kind
	Conf   Conf
	Fields []merge.Field // sorted by field number of Kind.Schema
	// Replaced are fields that do not hold, since a stronger layer says an alternative of them.
	Replaced []Replaced
}

// Applies reports whether a field of what holds has an effect where p is spoken.
func (e *Effective) Applies(field int, p api.Protocol) bool { return e.Idle(field, p) == "" }

// Idle says why a field of what holds has no effect where p is spoken; empty
// where it has one.
func (e *Effective) Idle(field int, p api.Protocol) string {
	path := e.Kind.Schema.Leaves[field].Path
	if e.Kind.Applies != nil && !e.Kind.Applies(path, p) {
		return "what it reaches speaks " + string(p)
	}
	if e.Kind.Requires != nil {
		if why := e.Kind.Requires(e.Conf, path); why != "" {
			return why
		}
	}
	if e.Kind.IdleAt != nil && p != "" { // of dataplanes as wholes nothing is spoken
		return e.Kind.IdleAt(e.Conf, path, p)
	}
	return ""
}

// Resolve folds layers, weakest first, into what holds; nil if they say nothing.
// The built-in defaults join below them, group by group (architecture, rule 5).
func (k *Kind) Resolve(layers []merge.Layer) *Effective {
	fields := merge.Fold(layers)
	if len(fields) == 0 {
		return nil
	}
	if d := k.defaults(fields); len(d.Leaves) > 0 {
		fields = merge.Fold(append([]merge.Layer{d}, layers...))
	}
	k.Schema.join(fields)
	fields, replaced := k.replace(fields)
	return &Effective{Kind: k, Conf: k.Schema.Build(k.New(), fields), Fields: fields, Replaced: replaced}
}

// defaults is the built-in layer, reduced to the groups that fields touch.
func (k *Kind) defaults(fields []merge.Field) merge.Layer {
	l := merge.Layer{Name: merge.Default, Origin: &api.Origin{Ref: api.Ref{Kind: k.Name}}}
	if k.Defaults == nil {
		return l
	}
	touched := map[string]bool{}
	for _, f := range fields {
		touched[k.Schema.Leaves[f.Field].Group] = true
	}
	for _, leaf := range k.Schema.Read(k.Defaults()) {
		if touched[k.Schema.Leaves[leaf.Field].Group] {
			l.Leaves = append(l.Leaves, leaf)
		}
	}
	return l
}

// Author is the item that set the field at path, as one text; it is empty where
// no document did.
func (e *Effective) Author(path string) string {
	w := e.winner(path)
	if w == nil || w.Layer == merge.Default {
		return ""
	}
	return w.Origin.Ref.String() + " " + string(w.Origin.Field)
}

// Get is the answer for the field at path, as http.numRetries.
func (e *Effective) Get(path string) (merge.Field, bool) {
	if e != nil {
		for _, f := range e.Fields {
			if e.Kind.Schema.Leaves[f.Field].Path == path {
				return f, true
			}
		}
	}
	return merge.Field{}, false
}
