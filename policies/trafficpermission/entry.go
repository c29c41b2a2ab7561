package trafficpermission

import (
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Tier is a step of the decision; the first that holds of a request decides
// (spec/identity.md 4.1).
type Tier uint8

// The tiers.
const (
	OverrideDenies Tier = iota + 1
	OverrideAllows
	Denies
	Allows
	DefaultAllows // of the permission that came with the mesh, where no other is about the inbound
	Nobody        // nothing holds: the request is denied
)

// Denies reports whether what a tier decides is to refuse.
func (t Tier) Denies() bool { return t == OverrideDenies || t == Denies || t == Nobody }

// Entry is one match of a list, or one item of from, as it stands among all that is said of
// one inbound. It is immutable.
type Entry struct {
	// Name is what Envoy counts it under: <kri>:<rule>.<list><index>.
	Name   string
	Origin *api.Origin // the rule, or the item of from
	// Rule is the index in spec.rules, or in spec.from where From is set; List is the name of
	// the list, or the action of the item, and Index the place in the list.
	Rule  int
	List  string
	Index int
	From  bool
	Layer merge.LayerName
	Tier  Tier
	// Shadow says that the entry allows and is counted as if it refused.
	Shadow bool
	// ShadowedBy is the list that stands in the place of the entry's, and Lost why; nil where
	// it takes part.
	ShadowedBy *api.Origin
	Lost       merge.Criterion
	// Says is the match of a list, or the ref of an item of from, as it is written.
	Says  any
	holds clause
}

// Field is where the entry stands in its document.
func (e *Entry) Field() api.Path {
	part := "default"
	if e.Tier == OverrideDenies || e.Tier == OverrideAllows {
		part = "override"
	}
	at := e.Origin.Field.Field(part)
	if e.From {
		return at.Field("action")
	}
	return at.Field(e.List).Index(e.Index)
}

// String names the entry as people read it.
func (e *Entry) String() string { return e.Origin.Ref.String() + " " + string(e.Field()) }

// name is what Envoy counts the entry under.
func (e *Entry) name(kri string) string {
	out := kri + ":" + strconv.Itoa(e.Rule) + "."
	if e.Tier == OverrideDenies || e.Tier == OverrideAllows {
		out += "override."
	}
	if e.From {
		return out + "from" + e.List
	}
	return out + e.List + strconv.Itoa(e.Index)
}

// Permissions is who may call one inbound. Inbounds about which the same is said share one.
// It is immutable.
type Permissions struct {
	// Deny, and Allow behind it, are the entries that take part, by name: so Envoy looks at
	// them. Allow is of one layer, and of overrides.
	Deny, Allow []*Entry
	// Replaced are entries of allow lists in whose place others stand.
	Replaced []*Entry
	// Shadow are those that would refuse what is allowed, were they real: entries with Shadow,
	// and those of documents that only show what they would do. Trial is everything as it
	// would be then; nil where nothing is a shadow.
	Shadow []*Entry
	Trial  *Permissions
	// Each are those all of which have to let a request in, as where the requests of several rules
	// arrive alike; none where it is p alone. The lists of p are theirs together then.
	Each []*Permissions
	// Anonymous says that callers without an identity are judged too where they are let in
	// (spec/identity.md 4.3).
	Anonymous bool
	// Paths says that an entry names a path, so that inbounds take no two spellings of one
	// (spec/identity.md 4.4).
	Paths bool
}
