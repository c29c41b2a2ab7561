// Package admission decides what is stored of what somebody wants to write beside what
// is there, and what comes along with it.
//
// It is one ordered list of steps, and promises one answer for one question, whoever
// asks: the HTTP API, the directory of --dir, a sidecar that brings its Dataplane along,
// the webhooks of an API server, and whoever only plans. What a document says by itself
// is decided where it is decoded. Who may write at all is asked before: by control/webhook and
// inspect/web/rights.
package admission

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// Writer is who wants to write. All that one asks for is stored or none of it, but for what a
// directory says: there one bad document never stops the others.
type Writer uint8

// The writers.
const (
	People    Writer = 1 << iota // by the API
	Directory                    // of --dir
	Sidecar                      // that brings its Dataplane along
	APIServer                    // asks whether it may store something itself
)

const anybody = People | Directory | Sidecar | APIServer

// Options are what a Chain goes by beside documents.
type Options struct {
	Catalog *api.Catalog // of what may be written
	Zone    api.Zone
	// System are the namespaces in which operators write.
	System []string
	// SkipDefaults leaves out the policies that come along with a mesh.
	SkipDefaults bool
	// FirstMesh is what a directory without a Mesh begins with; nil is mesh default.
	FirstMesh *api.Object
	// Cluster says that an API server keeps the documents: nothing comes along with them here,
	// since its webhooks and the leader see to that.
	Cluster bool
	// Model is the newest one; nil, or a nil one, where there is none yet.
	Model func() *resolve.Model
	// Compile makes one of a snapshot.
	Compile func(*snapshot.Snapshot) *resolve.Model
	// File reads a file of --ca-file-root; nil where only the control plane can.
	File func(path string) ([]byte, error)
	// Uses is the authority that needs a Secret; nil where nobody keeps authorities.
	Uses func(now *snapshot.Snapshot, secret api.Ref) (owner api.Ref, used bool)
	Now  func() time.Time
	Log  *slog.Logger // nil discards
}

// Chain is the steps, as they are for one control plane, or for a plan without one.
type Chain struct {
	Options
	catalog *api.Catalog // in the zone
	vips    *allocator   // nil where no addresses are kept
}

// New makes a chain. It keeps no virtual addresses before Open.
func New(o Options) *Chain {
	if o.FirstMesh == nil {
		o.FirstMesh = DefaultMesh()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Chain{Options: o, catalog: o.Catalog.InZone(o.Zone)}
}

// WriteRequest is what somebody wants to write.
type WriteRequest struct {
	Writes []store.Write
	// Refused are documents that are refused by themselves, as far as they could be read, so that
	// all that is wrong is said at once.
	Refused []*api.Object
	// Found is what is wrong with the documents by themselves.
	Found []*api.Violation
	// InOrder says that all that is wrong is told in the order of its places.
	InOrder bool
}

// Admitted is what is to be stored of it.
type Admitted struct {
	Writes    []store.Write
	Requested int // how many of them, the first ones, were asked for; the others come along
	// Found is what is to be said of the documents: warnings.
	Found []*api.Violation
}

// Refusal is the error of what is not stored.
type Refusal struct {
	Found []*api.Violation // all that is wrong, and warnings
	// Conflict says that the documents are sound, and that what is there stands against them.
	Conflict bool
}

// Error is all that is wrong, with its places, in one line.
func (r *Refusal) Error() string { return r.each((*api.Violation).Error) }

// Reasons is all that is wrong, without its places.
func (r *Refusal) Reasons() string { return r.each(func(v *api.Violation) string { return v.Message }) }

func (r *Refusal) each(text func(*api.Violation) string) string {
	var all []string
	for _, v := range r.Found {
		if v.Severity == api.Error {
			all = append(all, text(v))
		}
	}
	return strings.Join(all, "; ")
}

// Unwrap are the violations.
func (r *Refusal) Unwrap() []error {
	out := make([]error, len(r.Found))
	for i, v := range r.Found {
		out[i] = v
	}
	return out
}

// chainStep is one question, or one change, on the way into the store.
type chainStep struct {
	name string // for people who read the list
	of   Writer // to whose writes it is done
	// outside says that it is done where an API server keeps the documents, too.
	outside bool
	do      func(*Chain, *review)
}

// steps are the chain. Preconditions come before, as they are about the request; what weft writes
// by itself begins behind the last of them, with what comes along (complete); values of Secrets
// are sealed last, by the store, which alone has the key.
var steps = []chainStep{
	{"a mesh where there is none", Directory, false, (*Chain).firstMesh},
	{"meshes, labels for life, material", anybody, true, (*Chain).beside},
	{"what is stored of a document", People | Directory | Sidecar, true, (*Chain).form},
	{"authorities and permissions that cannot work", anybody, true, (*Chain).unworkable},
	{"permissions that leave out inbounds", People, false, (*Chain).unopened},
	{"sidecars of Pods", People | Directory, false, (*Chain).inject},
	{"what belongs to weft", People | Directory, false, (*Chain).reserved},
}

// review is writes on their way through the steps.
type review struct {
	by       Writer
	now      *snapshot.Snapshot
	writes   []store.Write
	refused  []*api.Object
	found    []*api.Violation
	brought  int          // how many of them were found before
	wrong    map[int]bool // writes that are not to be done
	failed   bool         // something is wrong
	conflict bool         // and nothing but conflicts
}

// refuse says what is wrong with a write, or to be warned of.
func (r *review) refuse(i int, found ...*api.Violation) {
	for _, v := range found {
		if v.Severity == api.Error {
			r.wrong[i], r.failed = true, true
		}
	}
	r.found = append(r.found, found...)
}

// Admit is what is to be stored of what somebody asks for, without what comes along. The error is
// a *Refusal.
func (c *Chain) Admit(by Writer, now *snapshot.Snapshot, a WriteRequest) (Admitted, error) {
	r := c.review(by, now, a, steps)
	if r.failed && a.InOrder {
		slices.SortStableFunc(r.found, func(a, b *api.Violation) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
	}
	if r.failed {
		return Admitted{}, &Refusal{r.found, r.conflict}
	}
	return Admitted{r.writes, len(r.writes), r.found}, nil
}

// Each is what is to be stored of writes of which one stands without the others, and what is to be
// said of all: what depends on one that is refused is refused with it.
func (c *Chain) Each(by Writer, now *snapshot.Snapshot, writes []store.Write) ([]store.Write, []*api.Violation) {
	var wrong []*api.Violation
	for list := steps; ; list = steps[1:] { // a mesh that is refused is no reason for another one
		r := c.review(by, now, WriteRequest{Writes: writes}, list)
		if !r.failed {
			return r.writes, append(wrong, r.found...)
		}
		wrong = append(wrong, slices.DeleteFunc(r.found, func(v *api.Violation) bool { return v.Severity != api.Error })...)
		asked := r.asked(writes)
		rest := make([]store.Write, 0, len(asked))
		for i, w := range asked {
			if !r.wrong[i] {
				rest = append(rest, w)
			}
		}
		if len(rest) == len(asked) { // what is wrong is of no write, so that none may be done
			return nil, wrong
		}
		writes = rest
	}
}

// asked are the writes of a review as they were asked for, in its order.
func (r *review) asked(writes []store.Write) []store.Write {
	if more := len(r.writes) - len(writes); more > 0 { // a mesh before them
		return slices.Concat(r.writes[:more], writes)
	}
	return writes
}

func (c *Chain) review(by Writer, now *snapshot.Snapshot, a WriteRequest, list []chainStep) *review {
	r := &review{by: by, now: now, writes: a.Writes, refused: a.Refused, found: slices.Clone(a.Found), brought: len(a.Found), wrong: map[int]bool{}}
	r.failed = slices.ContainsFunc(a.Found, func(v *api.Violation) bool { return v.Severity == api.Error })
	for _, s := range list {
		if s.of&by != 0 && (s.outside || !c.Cluster) {
			s.do(c, r)
		}
	}
	return r
}

// Plan is Admit with what would come along. Nothing is kept of it.
func (c *Chain) Plan(by Writer, now *snapshot.Snapshot, a WriteRequest) (Admitted, error) {
	out, err := c.Admit(by, now, a)
	if err != nil {
		return out, err
	}
	out.Writes = c.along(now, out.Writes)
	if c.vips != nil {
		out.Writes = c.vips.planned(now, out.Writes)
	}
	return out, nil
}

// complete are writes, of anybody, with what comes along: the policies that a mesh begins with, and
// virtual addresses, which nobody else is given from here on until undo.
func (c *Chain) complete(now *snapshot.Snapshot, writes []store.Write) (out []store.Write, undo func()) {
	out = c.along(now, writes)
	if c.vips == nil {
		return out, func() {}
	}
	return c.vips.given(now, out)
}

// along are writes with the policies that come along behind them.
func (c *Chain) along(now *snapshot.Snapshot, writes []store.Write) []store.Write {
	if c.Cluster || c.SkipDefaults {
		return writes
	}
	return append(writes[:len(writes):len(writes)], defaults(now, writes)...)
}

// objectBreaks is a violation of an object as a whole, at the place of its document.
func objectBreaks(o *api.Object, ref api.Ref, format string, args ...any) *api.Violation {
	v := api.Path("").Breaks(format, args...)
	if v.Object = ref; o != nil {
		v.Position = api.Position{File: o.Source.File, Line: o.Source.Line, Column: 1}
	}
	return v
}

// RefusalIn is the refusal in an error; nil where there is none.
func RefusalIn(err error) *Refusal {
	var r *Refusal
	errors.As(err, &r)
	return r
}
