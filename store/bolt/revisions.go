package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// view reads the history of the file; nobody changes it meanwhile. oldest is the revision from
// which on everything is known.
func (s *Store) view(read func(b *bbolt.Bucket, oldest uint64) error) (err error) {
	if s.cfg.History < 1 {
		return store.ErrNoHistory
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverDamage(s.db.Path(), &err)
	return s.db.View(func(tx *bbolt.Tx) error {
		var t totals
		if meta := tx.Bucket(metaBucket); meta != nil {
			if t, err = decodeTotals(meta.Get(totalsKey)); err != nil {
				return err
			}
		}
		b := tx.Bucket(historyBucket)
		if b == nil || !complete(b, t.revision) {
			return read(nil, t.revision)
		}
		oldest := t.revision
		if key, _ := b.Cursor().Seek(toldPrefix); bytes.HasPrefix(key, toldPrefix) {
			oldest = binary.BigEndian.Uint64(key[len(toldPrefix):]) - 1
		}
		return read(b, oldest)
	})
}

// Revisions are those that are kept, newest first. Of one whose record is damaged only that is
// told.
func (s *Store) Revisions(after, below uint64, each func(store.Revision) bool) error {
	return s.view(func(b *bbolt.Bucket, _ uint64) error {
		if b == nil {
			return nil
		}
		c := b.Cursor()
		c.Seek(revisionKey(toldPrefix, below)) // or what comes behind
		for key, value := c.Prev(); bytes.HasPrefix(key, toldPrefix); key, value = c.Prev() {
			r := revisionOf(key, value)
			if r.Number <= after || !each(r) {
				break
			}
		}
		return nil
	})
}

func revisionOf(key, value []byte) store.Revision {
	r := store.Revision{Number: binary.BigEndian.Uint64(key[len(toldPrefix):])}
	var t told
	text, err := intact(key, value)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		r.Damaged = err
		return r
	}
	r.Time, r.User, r.Client = t.Time, t.User, t.Client
	for _, o := range t.Objects {
		if ref, err := refOf([]byte(o.Key)); err == nil {
			r.Objects = append(r.Objects, store.Result{Ref: ref, Action: o.Action})
		}
	}
	return r
}

// Undo are the changes back to a revision.
func (s *Store) Undo(ctx context.Context, now *snapshot.Snapshot, to uint64) ([]snapshot.Change, error) {
	first := map[string]json.RawMessage{} // what each object was, by key
	err := s.view(func(b *bbolt.Bucket, oldest uint64) error {
		if err := store.Reachable(to, oldest, now.Revision()); err != nil || b == nil {
			return err
		}
		c := b.Cursor()
		for key, value := c.Seek(revisionKey(beforePrefix, to+1)); bytes.HasPrefix(key, beforePrefix); key, value = c.Next() {
			number := binary.BigEndian.Uint64(key[len(beforePrefix):])
			if number > now.Revision() {
				break
			}
			text, err := intact(key, value)
			var was []before
			if err == nil {
				was, err = unpack(text)
			}
			if err = errors.Join(err, ctx.Err()); err != nil && ctx.Err() == nil {
				return &store.GoneError{Revision: to, Oldest: number, Latest: now.Revision(), Because: fmt.Errorf("revision %d: %w", number, err)}
			} else if err != nil {
				return err
			}
			for _, w := range was {
				if _, known := first[w.Key]; !known {
					first[w.Key] = w.Body
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	was, err := s.objects(first)
	if err != nil {
		return nil, fmt.Errorf("what was stored at revision %d cannot be read: %w", to, err)
	}
	return store.Undoing(now, was), nil
}

// objects are bodies of records as objects, nil for those that were not there.
func (s *Store) objects(bodies map[string]json.RawMessage) (map[api.Ref]*api.Object, error) {
	out := make(map[api.Ref]*api.Object, len(bodies))
	for key, text := range bodies {
		ref, err := refOf([]byte(key))
		if err != nil {
			return nil, err
		}
		if out[ref] = nil; text == nil {
			continue
		}
		var b body
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		o, err := b.object(ref, s.cfg.Decode)
		if err == nil && s.cfg.Open != nil {
			o, err = s.cfg.Open(o)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		out[ref] = o
	}
	return out, nil
}
