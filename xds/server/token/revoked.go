package token

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/files"
)

const revokedFile = "revoked-tokens.json" // in the data directory

// mostRevoked is how many tokens can be revoked; a new key is the answer to more.
const mostRevoked = 100_000

// RevokedIDs are the ids of tokens, of dataplanes and of users, that are void
// before their time. They are kept in the data directory; nothing of a token but
// its id is in them.
type RevokedIDs struct {
	path string
	// shared keeps them elsewhere than in the data directory.
	shared func(ids map[string]time.Time) error

	writing sync.Mutex // one at a time keeps them
	mu      sync.RWMutex
	ids     map[string]time.Time // and when they were revoked
}

// LoadRevocations reads those of a data directory. A file that cannot be
// understood is refused: what was revoked must not come to life again.
func LoadRevocations(dir string) (*RevokedIDs, error) {
	r := &RevokedIDs{path: filepath.Join(dir, revokedFile), ids: map[string]time.Time{}}
	text, err := files.Read(r.path, files.MostDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.ids)
	}
	if err != nil {
		return nil, fmt.Errorf("the revoked tokens: %s: %w; restore it from a backup, or remove it, which makes revoked tokens good again", r.path, err)
	}
	return r, nil
}

// NewID is the id of a token that ends then: by chance, with its end behind it, so that
// whoever revokes it knows for how long that has to be remembered.
func NewID(ends time.Time) (string, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	return hex.EncodeToString(id) + "." + strconv.FormatInt(ends.Unix(), 10), nil
}

// skew is for how long what has ended is remembered: the clocks of replicas may differ.
const skew = time.Hour

// Prune forgets the revoked tokens that have ended. Ids that do not say when stay.
func Prune(ids map[string]time.Time, now time.Time) {
	maps.DeleteFunc(ids, func(id string, _ time.Time) bool {
		_, text, ok := strings.Cut(id, ".")
		ends, err := strconv.ParseInt(text, 10, 64)
		return ok && err == nil && now.Sub(time.Unix(ends, 0)) > skew
	})
}

// Has reports whether a token is revoked.
func (r *RevokedIDs) Has(id string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.ids[id]
	return ok
}

// All are the revoked tokens, sorted.
func (r *RevokedIDs) All() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.ids))
}

var anID = regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`)

// ErrNotStored says that tokens are void here and now, but that a restart would forget that.
var ErrNotStored = errors.New("the tokens are void until this control plane stops, but that cannot be kept")

// Revoke makes tokens void, all or none, and at once: also where they cannot be kept, which is
// ErrNotStored. Without an error they are on the disk when it returns.
func (r *RevokedIDs) Revoke(now time.Time, ids ...string) error {
	for _, id := range ids {
		if !anID.MatchString(id) {
			return fmt.Errorf("%.40q is not the id of a token; give the claim jti", id)
		}
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	next, err := r.void(now, ids)
	if err != nil {
		return err
	}
	if err := r.keep(next); err != nil {
		return fmt.Errorf("%w: %w; free the cause and revoke them again", ErrNotStored, err)
	}
	return nil
}

// void makes tokens void here, and answers with all that are.
func (r *RevokedIDs) void(now time.Time, ids []string) (map[string]time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.ids)
	Prune(next, now)
	for _, id := range ids {
		if _, ok := next[id]; !ok {
			next[id] = now.UTC().Truncate(time.Second)
		}
	}
	if len(next) > mostRevoked {
		return nil, fmt.Errorf("more than %d tokens would be revoked; remove the key of the tokens instead, which makes all of them void", mostRevoked)
	}
	r.ids = next
	return maps.Clone(next), nil // others are taken while it is kept
}

// NewRevocations are kept by keep, which has to have stored them when it returns.
func NewRevocations(keep func(ids map[string]time.Time) error) *RevokedIDs {
	return &RevokedIDs{shared: keep, ids: map[string]time.Time{}}
}

// Take adds those that another has kept, as JSON, and says which are new here. Those that have
// ended by now are forgotten.
func (r *RevokedIDs) Take(now time.Time, text []byte) (added []string, err error) {
	kept := map[string]time.Time{}
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, errors.New("the revoked tokens are no JSON of ids and times; restore them")
	}
	Prune(kept, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	Prune(r.ids, now)
	for id, at := range kept {
		if _, known := r.ids[id]; !known {
			r.ids[id] = at
			added = append(added, id)
		}
	}
	slices.Sort(added)
	return added, nil
}

// keep replaces the file by a whole one.
func (r *RevokedIDs) keep(ids map[string]time.Time) error {
	if r.shared != nil {
		return r.shared(ids)
	}
	text, err := json.MarshalIndent(ids, "", " ")
	if err != nil {
		return err
	}
	return files.Replace(r.path, append(text, '\n'), files.Private)
}
