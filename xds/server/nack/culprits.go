// Package nack is what weft makes of refusals: which resources one is about, whether it is logged, and of which
// resources nobody knows any more whether the client has them.
package nack

import (
	"strings"

	"github.com/weftmesh/weft/xds/server/subscription"
	"github.com/weftmesh/weft/xds/server/syncstatus"
	"github.com/weftmesh/weft/xds/server/truncate"
)

// Culprits are those of the changed resources of a response that its refusal names, or the only one that there is;
// none where it names nothing.
func Culprits(changed []subscription.Versioned, words string) []subscription.Versioned {
	culprits := named(changed, words[:min(len(words), truncate.Search)])
	if len(culprits) == 0 && len(changed) == 1 {
		return changed
	}
	return culprits
}

// most is how many names a refusal that names nothing is given.
const most = 10

// Of is the refusal of a response: its culprits, else some of what the response changed, and the client's words.
func Of(r *subscription.Response, culprits []subscription.Versioned, words string) syncstatus.Nack {
	n := syncstatus.Nack{Type: r.Type.String(), Message: truncate.Text(words, truncate.Message), Revision: r.Revision}
	if len(culprits) == 0 {
		culprits = r.Changed[:min(len(r.Changed), most)]
	}
	for _, v := range culprits {
		n.Resources = append(n.Resources, v.Name)
	}
	return n
}

// named are those of list whose names stand in words, as whole words.
func named(list []subscription.Versioned, words string) []subscription.Versioned {
	var out []subscription.Versioned
	for _, v := range list {
		for rest := words; ; {
			i := strings.Index(rest, v.Name)
			if i < 0 {
				break
			}
			end := i + len(v.Name)
			if (i == 0 || !inName(rest[i-1])) && (end == len(rest) || !inName(rest[end]) || sentenceEnds(rest[end:])) {
				out = append(out, v)
				break
			}
			rest = rest[i+1:]
		}
	}
	return out
}

// inName reports whether a name may go on with c.
func inName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || c == ':' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// sentenceEnds reports whether s begins with punctuation instead of a name's next letter.
func sentenceEnds(s string) bool {
	return (s[0] == '.' || s[0] == ':') && (len(s) == 1 || s[1] == ' ' || s[1] == '\n')
}
