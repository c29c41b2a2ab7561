package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// NotApplied is a policy or route of the mesh that takes no part, and why.
type NotApplied struct {
	Object string  `json:"object"`
	Ref    api.Ref `json:"ref"`
	Code   string  `json:"code"`
	Reason string  `json:"reason"`
}

// The codes of what keeps an object away, beside those of package resolve.
const (
	shadowed = "Shadow"           // its label does
	notHere  = "NotHere"          // it takes part on the dataplane, for other destinations
	unserved = "UnsupportedValue" // weft does not carry its kind out
)

// maxNotApplied bounds the list: a mesh has many policies, and most are about others.
const maxNotApplied = 200

// notApplied lists, in the order of refs, the policies and routes of r's mesh that
// take no part in what is shown of it, and counts all of them.
func notApplied(m *resolve.Reader, r *effective.Resolved, shown []*effective.Outbound) (list []NotApplied, total int) {
	only := shown
	if len(shown) == len(r.Outbounds) {
		only = nil // its inbounds too
	}
	matched := r.ObjectSet(only...)
	counts := func(kind string) bool { return !notes.IsReported(m, kind) }
	total = m.CountAttachable(r.Ref.Mesh, counts)
	for ref := range matched {
		if o, ok := m.Snapshot().Get(ref); ok && ref.Mesh == r.Ref.Mesh && notes.IsAttachable(m, o) && counts(ref.Kind) {
			total--
		}
	}
	told := make([]*api.Object, 0, min(total, maxNotApplied))
	here := make(map[api.Ref]bool, cap(told)) // that take part elsewhere on r
	for o := range m.Attachable(r.Ref.Mesh) {
		if len(told) == cap(told) {
			break
		}
		if !matched[o.Ref] && counts(o.Kind) {
			told, here[o.Ref] = append(told, o), false
		}
	}
	if len(shown) < len(r.Outbounds) {
		r.Mark(here)
	}
	list = make([]NotApplied, len(told))
	for i, o := range told {
		list[i] = NotApplied{Object: o.Ref.String(), Ref: o.Ref}
		list[i].Code, list[i].Reason = absence(m, o, r, here[o.Ref])
	}
	return list, total
}

// maxReasons is how many entries of one object are told of.
const maxReasons = 3

// absence is why o takes no part on r; elsewhere says that it does, but not in
// what is shown.
func absence(m *resolve.Reader, o *api.Object, r *effective.Resolved, elsewhere bool) (code, reason string) {
	switch {
	case o.Shadow():
		return shadowed, "label kuma.io/effect: shadow keeps it out of the real configuration"
	case elsewhere:
		return notHere, "it says nothing about this destination"
	}
	notes := m.WhyNot(o.Ref, r.Ref)
	if len(notes) == 0 {
		return unserved, "weft does not carry it out; see its warnings"
	}
	var texts []string
	for _, n := range notes {
		if !slices.Contains(texts, n.Message) {
			texts = append(texts, n.Message)
		}
	}
	if more := len(texts) - maxReasons; more > 0 {
		texts = append(texts[:maxReasons], fmt.Sprintf("and so on for %d more", more))
	}
	return notes[0].Code, strings.Join(texts, "; ")
}
