package route

import "strings"

// Of is path after the rewrite, where the match asks on of the path; ok is false where
// it stays. A prefix is replaced without its last slash, and nothing becomes a slash.
func (p *PathRewrite) Of(on *Condition, path string) (after string, ok bool) {
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
	if p.Literal && on.Op == BytePrefix && *p.Prefix != "" {
		return *p.Prefix + strings.TrimPrefix(path, on.Value), true
	}
	replacement := Absolute(strings.TrimSuffix(*p.Prefix, "/"))
	if rest := strings.TrimPrefix(path, prefix); rest != "" {
		return Absolute(strings.TrimSuffix(replacement, "/") + rest), true
	}
	return replacement, true
}
