package inspect

import (
	"fmt"
	"io"
	"strings"
)

// RevokedIdentity is what became of an identity that is to be refused.
type RevokedIdentity struct {
	Mesh     string `json:"mesh"`
	SpiffeID string `json:"spiffeID"`
	// Document denies it over everything else; to delete it, or its entry, is to take back.
	Document string `json:"document"`
	Already  bool   `json:"already,omitempty"` // it was revoked before
	// Dataplanes are those that have the identity, the first of them by name.
	Dataplanes int      `json:"dataplanes"`
	Names      []string `json:"names,omitempty"`
	DryRun     bool     `json:"dryRun,omitempty"`
}

// Text says in lines what became of it.
func (x RevokedIdentity) Text(w io.Writer, s Style) error {
	p := printer{Style: s}
	what := "is revoked"
	switch {
	case x.DryRun:
		what = "would be revoked"
	case x.Already:
		what = "was revoked before"
	}
	p.line("%s %s by %s", s.strong(x.SpiffeID), what, x.Document)
	text := fmt.Sprintf("%d dataplanes have it", x.Dataplanes)
	if x.Dataplanes == 1 {
		text = "1 dataplane has it"
	}
	if len(x.Names) > 0 {
		text += ": " + strings.Join(x.Names, ", ")
		if x.Dataplanes > len(x.Names) {
			text += ", …"
		}
	}
	p.line("  %s", text)
	return p.flush(w)
}

// MostNames bounds lists of names in answers that also count.
const MostNames = 10
