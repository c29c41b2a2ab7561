package policies

import (
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
)

// Findings are the violations of one value, in the order in which they were found.
type Findings struct{ errs *multierror.Error }

// Breaks adds a violation that refuses the document.
func (f *Findings) Breaks(at api.Path, format string, args ...any) {
	f.errs = multierror.Append(f.errs, at.Breaks(format, args...))
}

// Warns adds a violation that does not refuse it.
func (f *Findings) Warns(at api.Path, code, format string, args ...any) {
	f.errs = multierror.Append(f.errs, at.Warns(code, format, args...))
}

// OneOf adds the violation of a word that is none of words.
func (f *Findings) OneOf(at api.Path, word string, words ...string) {
	f.errs = multierror.Append(f.errs, at.OneOf(word, words...))
}

// Include adds what another Validate found; err may be nil.
func (f *Findings) Include(err error) {
	if err != nil {
		f.errs = multierror.Append(f.errs, err)
	}
}

// Err is nil without findings, else a *multierror.Error of *api.Violation.
func (f *Findings) Err() error { return f.errs.ErrorOrNil() }

// Bound checks a bound in time for which 0s means that there is none. Nil, where
// nothing is set, is sound.
func (f *Findings) Bound(at api.Path, d *api.Duration) {
	if d != nil && *d != 0 {
		f.Positive(at, d)
	}
}

// Positive checks a time that must pass. Envoy counts milliseconds: what is
// shorter would reach it as zero, which means something else.
func (f *Findings) Positive(at api.Path, d *api.Duration) {
	switch {
	case d == nil:
	case *d < 0:
		f.Breaks(at, "%s is negative; write a time that can pass", d)
	case *d == 0:
		f.Breaks(at, "must be longer than 0s; leave it out to inherit what weaker policies set")
	case time.Duration(*d) < time.Millisecond:
		f.Breaks(at, "%s is shorter than Envoy can tell from zero; write at least 1ms", d)
	}
}

// HeaderName checks the name of a header that a policy sets or reads.
func (f *Findings) HeaderName(at api.Path, name string) bool {
	switch {
	case name == "":
		f.Breaks(at, "is missing; name the header")
	case len(name) > 256:
		f.Breaks(at, "has %d characters; a header name has at most 256", len(name))
	case name[0] == ':':
		f.Breaks(at, "%q is a pseudo header; name an ordinary one", name)
	case strings.ToLower(name) != name:
		f.Breaks(at, "%q has capitals; header names are written in lower case: %s", name, strings.ToLower(name))
	case strings.ContainsFunc(name, func(r rune) bool { return !tokenRune(r) }):
		f.Breaks(at, "%q is no header name; use letters, digits and !#$%%&'*+-.^_`|~", name)
	default:
		return true
	}
	return false
}

// HeaderValue checks text that is written into a header.
func (f *Findings) HeaderValue(at api.Path, value string) {
	if strings.ContainsAny(value, "\r\n\x00") {
		f.Breaks(at, "holds a line break or a NUL, which would end the header; remove it")
	}
}

// tokenRune reports whether r may stand in a header name (RFC 9110, 5.6.2).
func tokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
