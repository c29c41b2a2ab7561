// Package lint says what is doubtful about documents that are valid: what has no effect, what
// works against itself, what is likely not meant. Each finding has a code, for which the table
// of this package says why it matters and what to do.
//
// It promises one source: what the decoder and the resolver find is told in their words, under
// their codes, and rules of its own look at what was resolved, never at documents as text. One
// rule is one pure function. It refuses nothing: whether a document is stored is decided elsewhere.
package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// Report is what was found.
type Report struct {
	Documents int       `json:"documents"`
	Findings  []Finding `json:"findings"`
	// Silenced are those that a document says not to tell.
	Silenced []Finding `json:"silenced,omitempty"`
	// Unseen is what was not looked at, and why.
	Unseen []string `json:"unseen,omitempty"`
}

// Finding is one thing that is doubtful, or wrong.
type Finding struct {
	inspect.Violation
	// Help is where more is said about the code.
	Help string `json:"help,omitempty"`
}

// Find is everything that is found: beside what was found before, in documents and by the
// resolver, what the rules find in a model of them. Documents are those that are looked at;
// findings about others, such as default policies, are left out. Of the codes in ignore nothing
// is told. Now is the time by which documents are old.
func Find(m *resolve.Model, documents []*api.Object, found []*api.Violation, now time.Time, ignore []string) Report {
	r := Report{Documents: len(documents), Findings: []Finding{}}
	mine := make(map[api.Ref]*api.Object, len(documents))
	for _, o := range documents {
		mine[o.Ref] = o
	}
	all := slices.Clone(found)
	v := newView(m, mine)
	v.now = now
	r.Unseen = v.unseen()
	for _, rule := range table {
		if rule.find == nil {
			continue
		}
		for _, x := range rule.find(v) {
			if of, _ := Lookup(x.Code); x.Severity == "" {
				x.Severity = of.Severity
			}
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b *api.Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), a.Object.Compare(b.Object), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	for i, x := range all {
		if slices.Contains(ignore, x.Code) || i > 0 && same(all[i-1], x) {
			continue
		}
		f := Finding{Violation: inspect.ViolationOf(x)}
		if f.File == "" { // the line of a text that nobody has
			f.Line, f.Column = 0, 0
		}
		if _, known := Lookup(x.Code); known {
			f.Help = HelpAt(x.Code)
		}
		if silenced(mine[x.Object], x) {
			r.Silenced = append(r.Silenced, f)
		} else {
			r.Findings = append(r.Findings, f)
		}
	}
	return r
}

// unseen is what nobody can know of the documents: of a mesh without dataplanes, where anything acts.
func (v *view) unseen() (out []string) {
	counts := map[string]int{}
	for ref, o := range v.mine {
		if _, policy := o.Spec.(*policies.Spec); (policy || v.model.IsRoute(ref.Kind)) && !o.IsDefault() {
			counts[ref.Mesh]++
		}
	}
	for _, mesh := range slices.Sorted(maps.Keys(counts)) {
		if there := v.anybody(mesh); !there {
			out = append(out, fmt.Sprintf("mesh %s has no Dataplane or Pod among the documents, so it is not known where its policies and routes act (%s): whom they select, what they override, which requests reach their rules; add Dataplanes, or ask a control plane",
				mesh, counted(counts[mesh], "document")))
		}
	}
	return out
}

// anybody reports whether a mesh has a dataplane.
func (v *view) anybody(mesh string) bool {
	for range v.model.Dataplanes(mesh) {
		return true
	}
	return false
}

func same(a, b *api.Violation) bool {
	return a.Position == b.Position && a.Object == b.Object && a.Code == b.Code && a.Field == b.Field && a.Message == b.Message
}

// Count is how many findings have a severity.
func (r *Report) Count(s api.Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}
