package merge

import "slices"

// Criterion is one key of the order in which opinions override each other: what
// decided between two of them.
type Criterion uint8

// The keys, in the order in which they are compared.
const (
	NotLost   Criterion = iota
	ByDefault           // built in, or made with the mesh, against what somebody wrote
	ByOverride
	ByRole
	ByLayer
	ByTopKind
	ByTopForm
	ByOrigin
	ByToKind
	ByToForm
	ByName
	ByIndex
	ByAlternative // what stands in its place is in another field
)

var keyNames = [...]string{"", "default", "override", "role", "layer", "topKind", "topForm", "origin", "toKind", "toForm", "name", "index", "replaced"}

// reasons say in words why the key decided: what the opinion that holds has.
var reasons = [len(keyNames)]string{
	"", "a default gives way to what somebody wrote", "an override holds", "the other's policy role holds",
	"the other stands nearer to the rule", "the other's targetRef is of a more specific kind",
	"the other's targetRef names more", "the other's origin is nearer", "the other's to is of a more specific kind",
	"the other's to names a section", "the other's name comes first", "the other stands later in the policy",
	"the other sets what stands in the place of the field",
}

// Reason is the text of a key in a sentence, by the key's name; the name itself of one that
// is not known.
func Reason(name string) string {
	if i := slices.Index(keyNames[:], name); i > 0 {
		return reasons[i]
	}
	return name
}

// String is the key as explanations print it; empty for NotLost.
func (k Criterion) String() string { return keyNames[k] }

// Rank is a layer's place in the order in which the caller laid the layers.
type Rank interface {
	// Below is the key by which the place is weaker than stronger.
	Below(stronger Rank) Criterion
}

// lost is why l gives way to winner: a layer without a place is built in.
func (l *Layer) lost(winner *Layer) Criterion {
	if l.Place == nil || winner.Place == nil {
		return ByDefault
	}
	return l.Place.Below(winner.Place)
}
