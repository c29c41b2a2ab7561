package merge

// Key is one key of the order in which opinions override each other: what
// decided between two of them.
type Key uint8

// The keys, in the order in which they are compared.
const (
	NotLost   Key = iota
	ByDefault     // built in, or made with the mesh, against what somebody wrote
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
)

var keyNames = [...]string{"", "default", "override", "role", "layer", "topKind", "topForm", "origin", "toKind", "toForm", "name", "index"}

// String is the key as explanations print it; empty for NotLost.
func (k Key) String() string { return keyNames[k] }

// Place is a layer's place in the order in which the caller laid the layers.
type Place interface {
	// Below is the key by which the place is weaker than stronger.
	Below(stronger Place) Key
}

// lost is why l gives way to winner: a layer without a place is built in.
func (l *Layer) lost(winner *Layer) Key {
	if l.Place == nil || winner.Place == nil {
		return ByDefault
	}
	return l.Place.Below(winner.Place)
}
