package contour

import (
	"strings"

	"github.com/weftmesh/weft/api"
)

// parsed is what the conditions of an object mean by themselves.
type parsed struct {
	includes, routes []block
}

// Default reads the conditions, once for all who look at the object.
func (p *HTTPProxy) Default() { p.read = p.parse() }

// parsed is what Default has read.
func (p *HTTPProxy) parsed() *parsed {
	if p.read == nil {
		return p.parse() // nobody has decoded the object
	}
	return p.read
}

func (p *HTTPProxy) parse() *parsed {
	out := &parsed{make([]block, len(p.Includes)), make([]block, len(p.Routes))}
	first := map[string]int{} // by what is asked
	for i := range p.Includes {
		x, at := &p.Includes[i], api.Path("spec.includes").Index(i)
		b := readBlock(includeError, at, x.Conditions, x.Condition, x.Match)
		b.sound = b.sound && b.delegable()
		if key := b.key(); b.sound && key != "" {
			if n, taken := first[key]; taken {
				b.wrong(includeError, "DuplicateMatchConditions", at, "has the conditions of includes[%d], which holds; change them or remove one", n)
			} else {
				first[key] = i
			}
		}
		out.includes[i] = b
	}
	for i := range p.Routes {
		x := &p.Routes[i]
		out.routes[i] = readBlock(routeError, api.Path("spec.routes").Index(i), x.Conditions, x.Condition, x.Match)
	}
	return out
}

// wrong makes a block one that is not sound.
func (b *block) wrong(kind, reason string, at api.Path, format string, args ...any) {
	r := report{keep: true}
	r.errs(kind, reason, at, format, args...)
	b.sound, b.faults = false, append(b.faults, r.faults...)
}

// delegable reports whether somebody else can tell what the conditions leave to him.
func (b *block) delegable() bool {
	switch p := b.path; {
	case p == nil:
	case p.kind == byRegex:
		b.wrong(includeError, badPath, p.at, "an include cannot have a regex; write prefix or exact")
		return false
	case p.kind == byPrefix && strings.Contains(p.value, "*"):
		b.wrong(includeError, badPath, p.at, "an include cannot have a wildcard, for nobody could tell whose a path is; write the prefix before the *")
		return false
	}
	return true
}

// key is one for blocks that ask the same, and empty for those that ask nothing, which
// may stand beside each other.
func (b *block) key() string {
	p := path{kind: byPrefix, value: "/"}
	if b.path != nil {
		p = path{kind: b.path.kind, value: joined("", b.path.value)}
	}
	if len(b.headers)+len(b.queries) == 0 && p.kind == byPrefix && p.value == "/" {
		return ""
	}
	a := newAsked(p, b.headers, b.queries)
	return a.key()
}
