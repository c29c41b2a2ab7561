package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// membershipNotes say for what a dataplane answers, or would, by what its token does not prove, and how
// to prove it.
func membershipNotes(x Mesh, p *index.Dataplane) []api.Note {
	if p.Object.Bound() == nil || !x.HasIdentities() {
		return nil
	}
	var barred, open []string
	var claims []index.Claim
	for id, of := range x.ClaimedBy(p) {
		behind, _ := x.Members.Get(x.At, id)
		if behind == nil {
			continue
		}
		claims = append(claims, of...)
		if slices.ContainsFunc(behind.Left, func(l effective.LeftOut) bool { return l.Dataplane == p.Object.Ref }) {
			barred = append(barred, id)
		} else {
			open = append(open, id)
		}
	}
	slices.Sort(barred)
	slices.Sort(open)
	slices.SortFunc(claims, func(a, b index.Claim) int { return strings.Compare(a.String(), b.String()) })
	claims = slices.Compact(claims)
	mend := fmt.Sprintf("issue another token by `%s`, or apply the Dataplane", proving(p.Object, claims))
	var notes []api.Note
	if len(barred) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Error, api.CodeUnprovenMember, "", "by %s it would answer for %s, which takes mutual TLS alone, and its token does not prove that, so nobody is led to it; %s", services.ClaimsText(claims), services.SomeNames(barred), mend))
	}
	if len(open) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Warning, api.CodeUnprovenMember, "", "by %s it answers for %s, and its token does not prove that: where mode Strict begins nobody is led to it any more; %s", services.ClaimsText(claims), services.SomeNames(open), mend))
	}
	return notes
}

// proving is the command that issues a token which binds what the last one does, and claims too.
func proving(o *api.Object, claims []index.Claim) string {
	proof, words := o.Bound(), []string{}
	add := func(word string, all map[string][]string) {
		for k, values := range all {
			for _, v := range values {
				words = append(words, "--"+word+" "+k+"="+v)
			}
		}
	}
	add(index.TagClaim, proof.Tags)
	add(index.LabelClaim, proof.Labels)
	for _, c := range claims {
		words = append(words, "--"+c.Word+" "+c.Key+"="+c.Value)
	}
	slices.Sort(words)
	text := "weft token dataplane --mesh " + o.Mesh + " --name " + o.FullName()
	if proof.Workload != "" {
		text += " --workload " + proof.Workload
	}
	return strings.Join(append([]string{text}, slices.Compact(words)...), " ")
}
