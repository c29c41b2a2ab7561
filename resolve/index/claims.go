package index

import (
	"slices"
)

// Claim is a tag or label by which a dataplane answers for something, and which nobody has proved.
type Claim struct{ Word, Key, Value string }

// The words of claims, which are those of the command that issues tokens too.
const (
	TagClaim   = "tag"
	LabelClaim = "label"
)

// String is the claim in words: what it is, key and value.
func (c Claim) String() string { return c.Word + " " + c.Key + ": " + c.Value }

func sortedNames(all map[string]string) []string {
	out := make([]string, 0, len(all))
	for k := range all {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
