package policies

import (
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
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

// Longest is the longest time that a policy may set: a hundred years, of 365
// days. Envoy refuses 9223372036s and more, which would still be a duration.
const Longest = 100 * 365 * 24 * time.Hour

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
	case time.Duration(*d) > Longest:
		f.Breaks(at, "%s is longer than Envoy can wait; write at most 876000h, a hundred years", d)
	}
}

// HeaderName checks the name of a header that a policy sets or reads, and
// reports whether it is sound.
func (f *Findings) HeaderName(at api.Path, name string) bool {
	if strings.HasPrefix(name, ":") {
		f.Breaks(at, "%q is a pseudo header; name an ordinary one", redact.Clip(name))
		return false
	}
	err := route.CheckHeaderName(at, name)
	f.Include(err)
	return err == nil
}
