package route

import (
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// Of is path after the rewrite, where the match asks on of the path; ok is false where
// it stays. A prefix is replaced without its last slash, and nothing becomes a slash.
func (p *PathRewrite) Of(on *match.Condition, path string) (after string, ok bool) {
	switch {
	case p == nil:
		return "", false
	case p.Full != nil:
		return Absolute(*p.Full), true
	case p.Each != nil:
		return p.Each.In(path), true
	}
	prefix, ok := on.Replaces()
	if p.Prefix == nil || !ok {
		return "", false
	}
	if p.Literal && on.Op == match.BytePrefix && *p.Prefix != "" {
		return *p.Prefix + strings.TrimPrefix(path, on.Value), true
	}
	return Absolute(p.Replacement() + strings.TrimPrefix(path, prefix)), true
}

// Replacement is what stands in the place of a prefix: as it is written, but without its last slash and with one
// in front; empty where that leaves nothing. One slash more at its end stays, as Envoy has it.
func (p *PathRewrite) Replacement() string {
	if to := strings.TrimSuffix(*p.Prefix, "/"); to != "" {
		return Absolute(to)
	}
	return ""
}
