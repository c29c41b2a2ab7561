package issuer

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// restored has found out of a store without any revocation what it is to know; what it logs is in the buffer.
func restored(t *testing.T) (*RestoredStore, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	own := memory.New(snapshot.New(0), nil, time.Now)
	t.Cleanup(func() { _ = own.Close() })
	return NewRestoredStore(RestoredConfig{Own: own, Log: slog.New(slog.NewTextHandler(log, nil)), Shared: sharedAlone{},
		Document: func(_ *snapshot.Snapshot, mesh string) (*api.Object, api.Ref) {
			return nil, api.Ref{Kind: permissionKind, Mesh: mesh, Name: api.RevocationsName(mesh)}
		}}), log
}

// TestARecordOfRevocationsIsCompared: identities that the Secret of a cluster has as revoked, and that the
// documents do not take away when a control plane begins, are told: the documents are those of before. What
// the leader takes back later is told no more.
func TestARecordOfRevocationsIsCompared(t *testing.T) {
	t.Parallel()
	r, log := restored(t)
	r.takeRecord([]byte(`[{"mesh":"default","identity":"spiffe://default/payments"},{"mesh":"default","identity":"spiffe://default/shop/*"}]`))
	notes := r.Notes()
	if len(notes) != 2 {
		t.Fatalf("two revocations are lost, told are %v", notes)
	}
	for i, identity := range []string{"spiffe://default/payments", "spiffe://default/shop/*"} {
		if n := notes[i]; n.Code != "StoreRestored" || n.Severity != api.Error || n.Origin.Ref.Name != "default" || !strings.Contains(n.Message, identity) || !strings.Contains(log.String(), identity) {
			t.Errorf("of %s is told %+v, and logged %s", identity, n, log)
		}
	}
	r.takeRecord([]byte(`[{"mesh":"default","identity":"spiffe://default/payments"}]`))
	if notes := r.Notes(); len(notes) != 1 || !strings.Contains(notes[0].Message, "spiffe://default/payments") {
		t.Errorf("one was taken back, told are %v", notes)
	}
	r.takeRecord([]byte(`[]`))
	if notes := r.Notes(); len(notes) != 0 {
		t.Errorf("all were taken back, told are %v", notes)
	}
}

// TestARecordThatCannotBeRead: it is said that nobody knows what was revoked, and what is known stays; a
// cluster that has no record yet has revoked nothing.
func TestARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, log := restored(t)
	r.takeRecord([]byte(`[{"mesh":`))
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), revokedFile) {
		t.Errorf("nothing is said of a record that cannot be read: %q", log)
	}
	log.Reset()
	r.takeRecord([]byte(`[{"mesh":"default","identity":"spiffe://default/payments"}]`))
	r.takeRecord([]byte(`{}`))
	if notes := r.Notes(); len(notes) != 1 {
		t.Errorf("after a record that cannot be read these are told: %v", notes)
	}
	empty, log := restored(t)
	empty.takeRecord(nil)
	if log.Len() > 0 || len(empty.Notes()) > 0 {
		t.Errorf("of a cluster without a record is told %v, and logged %s", empty.Notes(), log)
	}
}

// sharedAlone are the Secrets of a cluster, of which a name is all that is asked.
type sharedAlone struct{ store.SharedSecrets }

// String is where people find them.
func (sharedAlone) String() string { return "Secret weft-ca" }
