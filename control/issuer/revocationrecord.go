package issuer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/files"
)

// revokedFile says which identities are revoked, for the next control plane of this data directory: whose
// store was restored from a backup of before is told that. In a cluster the Secret of the authority has it.
const revokedFile = "revoked-identities.json"

// mostSharedIdentities is how long the list may be in the Secret, which is of 1 MiB in base64 and holds
// revoked tokens too; recordAgain is between looks whether the leader has to write it.
const (
	mostSharedIdentities = 128 << 10
	recordAgain          = 30 * time.Second
)

// FollowRecord compares what documents of a cluster revoke with what the Secret of the authority says,
// when both are read, and then follows what the leader writes there, until ctx ends.
func (r *RestoredStore) FollowRecord(ctx context.Context) {
	if r.shared == nil || r.Synced(ctx) != nil {
		return
	}
	for {
		text, changed := r.shared.Value(revokedFile)
		if r.shared.Waiting() == nil {
			r.takeRecord(text)
			r.record(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-r.wake:
		case <-time.After(recordAgain):
		}
	}
}

// takeRecord takes what the Secret says: at first what control planes before have written, and then what
// the leader does, who knows what was taken back while it ran.
func (r *RestoredStore) takeRecord(text []byte) {
	var now []keptRevoked
	if len(text) > 0 {
		if err := json.Unmarshal(text, &now); err != nil {
			r.Log.Warn("which identities were revoked before is not known", "secret", r.shared.String(), "key", revokedFile, "error", err)
			return
		}
	}
	r.mu.Lock()
	begun := r.begun
	if begun {
		r.known = now
		r.gone = slices.DeleteFunc(r.gone, func(x keptRevoked) bool { return !slices.Contains(now, x) })
	}
	r.mu.Unlock()
	if !begun {
		r.compare(now)
		r.say()
	}
}

// keepsRecord reports whether this control plane writes the record: of a cluster the leader does.
func (r *RestoredStore) keepsRecord() bool {
	return r.file != "" || r.shared != nil && r.Leads()
}

// writeRecord writes which identities are revoked.
func (r *RestoredStore) writeRecord(ctx context.Context, all []keptRevoked) error {
	if r.shared == nil {
		return files.WriteState(r.file, all)
	}
	text, err := json.Marshal(append([]keptRevoked{}, all...))
	if err != nil {
		return err
	}
	if len(text) > mostSharedIdentities {
		return fmt.Errorf("%d revoked identities do not fit into the %s; revoke by prefix what belongs together", len(all), r.shared)
	}
	return r.shared.Change(ctx, revokedFile, func([]byte) ([]byte, error) { return text, nil })
}
