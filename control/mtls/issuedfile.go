package mtls

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/files"
)

// leavesFile says who was given certificates that are still good, for the next control plane of
// this data directory: a rotation waits for those, and for nobody else.
const leavesFile = "leaves.json"

// keptLeaves are all of them.
type keptLeaves struct {
	// Unknown is until when there may be others, that control planes have given which kept no such file.
	Unknown time.Time                 `json:"unknown,omitzero"`
	Given   []issuer.GivenCertificate `json:"given"`
}

// ledger keeps the file. Certificates that are given at once are one write.
type ledger struct {
	file    string
	content func() keptLeaves
	writing sync.Mutex // held while the file is written

	mu   sync.Mutex
	next *ledgerWrite // the one that has yet to begin; nil where nobody waits for it
}

// ledgerWrite is one write: done is closed after it, and err is why it failed.
type ledgerWrite struct {
	done chan struct{}
	err  error
}

// write returns when everything that content says as write is called is on the disk.
func (l *ledger) write() error {
	l.mu.Lock()
	w := l.next
	if w != nil {
		l.mu.Unlock()
		<-w.done
		return w.err
	}
	w = &ledgerWrite{done: make(chan struct{})}
	l.next = w
	l.mu.Unlock()
	l.writing.Lock() // who comes while another write goes on is gathered in this one
	defer l.writing.Unlock()
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	err := files.WriteState(l.file, l.content())
	w.err = err
	close(w.done)
	return err
}

// keep has certificates be written down before they are given, and takes note of those that control
// planes before have given.
func (l *IssuedCertificates) keep(dir string) {
	l.ledger = &ledger{file: filepath.Join(dir, leavesFile), content: l.kept}
	var before keptLeaves
	err := files.ReadState(l.ledger.file, &before)
	l.before = before.Given
	for _, x := range before.Given {
		l.gave(x.Dataplane, newWorkloadCert(x.Owner, x.Root, x.Ends))
	}
	switch {
	case err == nil:
		l.unknown = &before.Unknown
	case errors.Is(err, fs.ErrNotExist):
		l.none = true
	default:
		l.Log.Warn("who was given certificates is not known: a rotation waits until the last of them has ended", "file", l.ledger.file, "error", err)
	}
}

// Begin has the file be there before anybody is given a certificate: a control plane that finds none
// cannot know that nobody was. The keeper of authorities knows by then of what was reserved before. It
// returns what control planes before have given.
func (l *IssuedCertificates) Begin() (before []issuer.GivenCertificate) {
	before, l.before = l.before, nil
	if !l.none {
		return before
	}
	if err := l.ledger.write(); err != nil {
		l.Log.Warn("it cannot be written down that nobody was given a certificate: after a restart a rotation waits until all that may have been given have ended", "file", l.ledger.file, "error", err)
	}
	return before
}

// kept are the certificates that are good.
func (l *IssuedCertificates) kept() keptLeaves {
	now := l.Now()
	out := keptLeaves{Unknown: l.Keeper.Unknown(), Given: []issuer.GivenCertificate{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for dp, x := range l.good(now) {
		by := x.by.Value()
		out.Given = append(out.Given, issuer.GivenCertificate{Dataplane: dp, Owner: by.owner, Root: by.root, Ends: x.ends.time()})
	}
	return out
}

// UnknownUntil is until when there may be certificates that are not known here, of an authority whose
// last one ends then.
func (l *IssuedCertificates) UnknownUntil(last time.Time) time.Time {
	if l.unknown != nil && l.unknown.Before(last) {
		return *l.unknown
	}
	return last
}

// Record takes note of a certificate that is about to be given. It is not given where that fails:
// the next control plane would not know of it.
func (l *IssuedCertificates) Record(dp, owner api.Ref, root string, ends time.Time) error {
	l.gave(dp, newWorkloadCert(owner, root, ends))
	if l.ledger == nil {
		return nil
	}
	if err := l.ledger.write(); err != nil {
		return fmt.Errorf("no certificate is given while it cannot be written down who has one: %w", err)
	}
	return nil
}
