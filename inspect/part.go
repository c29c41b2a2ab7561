package inspect

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Paged is a part of a list.
func Paged[T any](list []T, part ListOptions) []T {
	list = list[min(part.Offset, len(list)):]
	if part.Size > 0 {
		list = list[:min(part.Size, len(list))]
	}
	return list
}

// ListOptions is what is told of a list.
type ListOptions struct {
	Offset int
	Size   int      // 0 for all
	Name   string   // a part of the names
	Kinds  []string // empty for all
	Fares  Fares    // of objects
	// Brief leaves out what policies say of an explanation.
	Brief bool
	// Sees reports whether who asks is told of objects of a namespace; nil of one who is told of
	// all. What cannot be read is of no namespace, and told to nobody else.
	Sees func(namespace string) bool
}

// TellsOf reports whether who asks is told of an object.
func (p ListOptions) TellsOf(ref api.Ref) bool { return p.Sees == nil || p.Sees(ref.Namespace) }

// Fares chooses objects by how they fare.
type Fares string

// All that is asked for fares as it should, or does not; empty for both.
const (
	FaresWell  Fares = "fine"
	FaresBadly Fares = "problem"
)

// Chosen are those of a list that are asked for, but for how they fare.
func (p ListOptions) Chosen(refs []api.Ref) []api.Ref {
	return slices.DeleteFunc(refs, func(r api.Ref) bool {
		return !p.TellsOf(r) || !strings.Contains(r.FullName(), p.Name) || len(p.Kinds) > 0 && !slices.Contains(p.Kinds, r.Kind)
	})
}
