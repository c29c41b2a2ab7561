package issuer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
)

// codeRestored is that the store is one of before.
const codeRestored = "StoreRestored"

// mostLater bounds of how many dataplanes is remembered that they show a certificate of later than the store.
const mostLater = 200

// RestoredStore is what this control plane meets that its store cannot know, for it is one of before:
// certificates of roots that took over later, and identities that were revoked later. Both say that
// something is trusted again that somebody wanted to be trusted no more.
type RestoredStore struct {
	RestoredConfig
	// The record of which identities are revoked is in the file, or in the Secret of the authority of
	// a cluster; there is none in a cluster whose control planes share no authority.
	file    string
	shared  store.SharedSecrets
	writing sync.Mutex    // held while the record is written
	wake    chan struct{} // has a token when that of a cluster may have to be written

	mu    sync.Mutex
	begun bool
	later map[api.Ref]laterCertificate // by the name by which a sidecar calls its dataplane
	known []keptRevoked                // what the record says
	gone  []keptRevoked                // and the store does not, since it was opened
}

// laterCertificate is a certificate that is newer than the store; it was shown, or else given.
type laterCertificate struct {
	given GivenCertificate
	shown *attach.Certificate
}

// keptRevoked is a revoked identity.
type keptRevoked struct {
	Mesh     string `json:"mesh"`
	Identity string `json:"identity"`
}

// command revokes it again, where there is one.
func (x keptRevoked) command() string {
	if strings.HasSuffix(x.Identity, "*") {
		return ", as a deny of type Prefix"
	}
	return fmt.Sprintf(" by `weft identity revoke --mesh %s '%s'`", x.Mesh, x.Identity)
}

// RestoredConfig is what it takes to find out that a store is one of before.
type RestoredConfig struct {
	DataDir    string              // where the record is kept; empty where replicas share a store
	Shared     store.SharedSecrets // what has it where replicas share a store; nil where there is none
	Controller *authorities.CAController
	Own        store.Store
	Document   func(s *snapshot.Snapshot, mesh string) (*api.Object, api.Ref) // of the revocations of a mesh
	Synced     func(context.Context) error                                    // waits until the documents are read
	Leads      func() bool                                                    // this replica does; with Shared
	Log        *slog.Logger
}

func NewRestoredStore(by RestoredConfig) *RestoredStore {
	r := &RestoredStore{RestoredConfig: by, later: map[api.Ref]laterCertificate{}, shared: by.Shared, wake: make(chan struct{}, 1)}
	if by.DataDir != "" {
		r.file = filepath.Join(by.DataDir, revokedFile)
	}
	return r
}

// Begin compares with what control planes before have written, and logs what is amiss. What the Secret of
// a cluster says is compared when that is read.
func (r *RestoredStore) Begin(given []GivenCertificate) {
	if r.file != "" {
		var before []keptRevoked
		if err := files.ReadState(r.file, &before); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Log.Warn("which identities were revoked before is not known", "file", r.file, "error", err)
		}
		r.compare(before)
	}
	r.mu.Lock()
	for _, x := range given {
		if _, is := r.Controller.GivenLater(x.Owner, x.Root, x.Ends); is && len(r.later) < mostLater {
			r.later[x.Dataplane.AsNode()] = laterCertificate{given: x}
		}
	}
	r.mu.Unlock()
	r.say()
	r.Note()
}

// compare takes the record of control planes before, and what of it the store does not say any more.
func (r *RestoredStore) compare(before []keptRevoked) {
	s := r.Own.Snapshot()
	now := r.revoked(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.begun = before, true
	for _, x := range before {
		if !slices.Contains(now, x) && (x.Mesh == api.DefaultMesh || s.Has(api.Ref{Kind: api.KindMesh, Name: x.Mesh})) {
			r.gone = append(r.gone, x)
		}
	}
}

// say logs what is amiss.
func (r *RestoredStore) say() {
	for _, n := range r.Notes() {
		r.Log.Warn(n.Message, "of", n.Origin.Ref.String())
	}
}

// Note has it written down which identities are revoked: at once, and in a cluster soon, for the caller
// has more to do than to wait for an API server.
func (r *RestoredStore) Note() {
	if r.shared == nil {
		r.record(context.Background())
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// record writes down which identities are revoked, where that has changed.
func (r *RestoredStore) record(ctx context.Context) {
	if !r.keepsRecord() {
		return
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	now := r.revoked(r.Own.Snapshot())
	r.mu.Lock()
	if !r.begun { // what the record says was not compared yet
		r.mu.Unlock()
		return
	}
	r.gone = slices.DeleteFunc(r.gone, func(x keptRevoked) bool { return slices.Contains(now, x) })
	all := append(now, r.gone...)
	same := slices.Equal(all, r.known)
	r.mu.Unlock()
	if same {
		return
	}
	if err := r.writeRecord(ctx, all); err != nil {
		r.Log.Warn("the revoked identities cannot be recorded: a restore of an older backup will not warn that it brings them back", "record", cmp.Or(r.file, fmt.Sprint(r.shared)), "error", err)
		return
	}
	r.mu.Lock()
	r.known = all
	r.mu.Unlock()
}

// revoked are the identities that a snapshot takes away, in order.
func (r *RestoredStore) revoked(s *snapshot.Snapshot) (out []keptRevoked) {
	for o := range s.OfKind(permissionKind) {
		spec, ok := o.Spec.(*policies.Spec)
		if _, ref := r.Document(s, o.Mesh); !ok || o.Ref != ref {
			continue
		}
		for _, n := range spec.Kind.Authorizer.Revoked(spec) {
			name := n.Name
			if n.Prefix {
				name += "*"
			}
			out = append(out, keptRevoked{o.Mesh, name})
		}
	}
	slices.SortFunc(out, func(a, b keptRevoked) int {
		return cmp.Or(cmp.Compare(a.Mesh, b.Mesh), cmp.Compare(a.Identity, b.Identity))
	})
	return slices.Compact(out)
}

// Showed is told of a certificate that proves nothing, of the sidecar that shows it.
func (r *RestoredStore) Showed(dp api.Ref, c *attach.Certificate) {
	if _, is := r.judge(dp, laterCertificate{shown: c}); !is {
		return
	}
	r.mu.Lock()
	first := len(r.later) == 0
	if _, known := r.later[dp]; known || len(r.later) < mostLater {
		r.later[dp] = laterCertificate{shown: c}
	}
	r.mu.Unlock()
	if first {
		r.say()
	}
}

// judge reports whether a certificate is one of later than the store.
func (r *RestoredStore) judge(dp api.Ref, x laterCertificate) (authorities.Later, bool) {
	if x.shown == nil {
		return r.Controller.GivenLater(x.given.Owner, x.given.Root, x.given.Ends)
	}
	return r.Controller.ShownLater(dp.Mesh, dp.Mesh+"."+dp.Name, x.shown.GetChain(), x.shown.GetProof())
}

// Notes are what is wrong, each on the document of the authority or the mesh. What is so no more is forgotten.
func (r *RestoredStore) Notes() (notes []api.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	type back struct {
		authorities.Later
		names []string
	}
	var all []*back
	for dp, x := range r.later {
		is, still := r.judge(dp, x)
		if !still {
			delete(r.later, dp)
			continue
		}
		i := slices.IndexFunc(all, func(b *back) bool { return b.Owner == is.Owner })
		if i < 0 {
			i, all = len(all), append(all, &back{Later: is})
		}
		all[i].names = append(all[i].names, dp.Name)
		if is.Ends.After(all[i].Ends) {
			all[i].Ends = is.Ends
		}
	}
	slices.SortFunc(all, func(a, b *back) int { return a.Owner.Compare(b.Owner) })
	for _, b := range all {
		notes = append(notes, api.Note{Origin: &api.Origin{Ref: b.Owner}, Severity: api.Error, Code: codeRestored, Message: fmt.Sprintf(
			"the store is one of before a root was replaced, as a restored backup is: by it root %s signs since %s, and %s got certificates of another one later. Where that root was replaced because its key is in wrong hands, it is trusted again: `%s` replaces it. Else bring a later backup, or let sidecars renew; this goes when the last of those certificates ends, at %s",
			b.Signer[:min(16, len(b.Signer))], b.Since.UTC().Format(time.RFC3339), listed(b.names), rotating(b.Owner), b.Ends.UTC().Format(time.RFC3339))})
	}
	for _, x := range r.gone {
		notes = append(notes, api.Note{Origin: &api.Origin{Ref: api.Ref{Kind: api.KindMesh, Name: x.Mesh}}, Severity: api.Error, Code: codeRestored, Message: fmt.Sprintf(
			"identity %s was revoked, and by the store it is not: the store is one of before, as a restored backup is. Revoke it again%s; who is to be let in again is taken out of MeshTrafficPermission %s after that",
			x.Identity, x.command(), api.RevocationsName(x.Mesh))})
	}
	return notes
}

// rotating is the command that replaces the root of an authority at once.
func rotating(owner api.Ref) string {
	if owner.Kind == api.KindMesh {
		return "weft mtls rotate --now --mesh " + owner.Name
	}
	return "weft mtls rotate --now --mesh " + owner.Mesh + " --identity " + owner.FullName()
}

// listed are the first of some names, in order.
func listed(names []string) string {
	slices.Sort(names)
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
