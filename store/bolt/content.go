package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

var (
	objectsBucket = []byte("objects")
	metaBucket    = []byte("meta")
	totalsKey     = []byte("totals")
)

// totals is what all records together must add up to.
type totals struct {
	revision uint64
	count    uint64
	sum      uint32 // exclusive or of the checksums
}

const format = 1

func (t totals) encode() []byte {
	b := []byte{format}
	b = binary.BigEndian.AppendUint64(b, t.revision)
	b = binary.BigEndian.AppendUint64(b, t.count)
	b = binary.BigEndian.AppendUint32(b, t.sum)
	return binary.BigEndian.AppendUint32(b, checksum(totalsKey, b))
}

func decodeTotals(b []byte) (totals, error) {
	switch {
	case len(b) == 0:
		return totals{}, errors.New("its totals are missing")
	case b[0] > format && len(b) > 5 && checksum(totalsKey, b[:len(b)-4]) == binary.BigEndian.Uint32(b[len(b)-4:]):
		return totals{}, fmt.Errorf("it has format %d, this weft knows %d; use a newer weft", b[0], format)
	case len(b) != 25 || checksum(totalsKey, b[:21]) != binary.BigEndian.Uint32(b[21:]):
		return totals{}, errors.New("its totals are wrong")
	}
	return totals{binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint32(b[17:])}, nil
}

// add counts one record in, remove one out.
func (t *totals) add(record []byte)    { t.count++; t.sum ^= sumOf(record) }
func (t *totals) remove(record []byte) { t.count--; t.sum ^= sumOf(record) }

// content is what a file holds.
type content struct {
	revision uint64
	objects  []*api.Object
	problems []*api.Violation
	history  kept
}

// record is one whole record, not decoded yet.
type record struct {
	ref  api.Ref
	body body
}

// load reads everything, proves that it is complete, and decodes it.
func load(db *bbolt.DB, cfg Config) (content, error) {
	revision, records, past, err := readAll(db)
	if err != nil {
		return content{}, err
	}
	objects, problems := decodeAll(records, cfg.Decode)
	if cfg.Open != nil {
		for i, o := range objects {
			if objects[i], err = cfg.Open(o); err != nil {
				return content{}, fmt.Errorf("%w: %s: %w", ErrSealed, o.Ref, err)
			}
		}
	}
	return content{revision, objects, problems, past}, nil
}

// readAll copies the records out of the file, so that what happens to it later
// does not matter.
func readAll(db *bbolt.DB) (revision uint64, all []record, past kept, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	var want, got totals
	err = db.View(func(tx *bbolt.Tx) error {
		objects, meta := tx.Bucket(objectsBucket), tx.Bucket(metaBucket)
		if objects == nil && meta == nil {
			return nil // new
		}
		if objects == nil || meta == nil {
			return errors.New("a part of it is missing")
		}
		var err error
		if want, err = decodeTotals(meta.Get(totalsKey)); err != nil {
			return err
		}
		if past, err = measure(tx, want.revision); err != nil {
			return err
		}
		return objects.ForEach(func(k, v []byte) error {
			got.add(v)
			b, err := parse(k, v)
			if err != nil {
				return err
			}
			ref, err := refOf(k)
			all = append(all, record{ref, b})
			return err
		})
	})
	if err != nil {
		return 0, nil, past, err
	}
	if want.count != got.count || want.sum != got.sum {
		return 0, nil, past, fmt.Errorf("it has %d records with sum %08x, but %d with sum %08x were written", got.count, got.sum, want.count, want.sum)
	}
	return want.revision, all, past, nil
}

// decodeAll decodes the records on all processors; what is whole but cannot be
// decoded is a problem, not damage.
func decodeAll(records []record, decode func(string, []byte) (*api.Object, error)) ([]*api.Object, []*api.Violation) {
	objects := make([]*api.Object, len(records))
	problems := make([]*api.Violation, len(records))
	var next atomic.Int64
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(records); i = int(next.Add(1)) - 1 {
				objects[i], problems[i] = records[i].decode(decode)
			}
		})
	}
	working.Wait()
	return slices.DeleteFunc(objects, func(o *api.Object) bool { return o == nil }),
		slices.DeleteFunc(problems, func(v *api.Violation) bool { return v == nil })
}

func (r record) decode(decode func(string, []byte) (*api.Object, error)) (o *api.Object, problem *api.Violation) {
	defer func() {
		if p := recover(); p != nil {
			o, problem = nil, r.unreadable(fmt.Errorf("it makes this weft fail: %v", p))
		}
	}()
	o, err := r.body.object(r.ref, decode)
	if err != nil {
		return nil, r.unreadable(err)
	}
	return o, nil
}

func (r record) unreadable(err error) *api.Violation {
	return &api.Violation{Position: api.Position{File: r.body.File, Line: r.body.Line}, Object: r.ref, Code: "Unreadable", Severity: api.Error,
		Message: "stored, but not served: " + err.Error() + "; apply it again in a form that this weft knows, or delete it"}
}

// write does changes, and deletes the orphans before, in one transaction with what the
// history keeps of them.
func (s *Store) write(revision store.Revision, changes []snapshot.Change) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverDamage(s.db.Path(), &err)
	var after kept
	err = s.db.Update(func(tx *bbolt.Tx) error {
		objects, err := tx.CreateBucketIfNotExists(objectsBucket)
		if err != nil {
			return err
		}
		meta, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		var t totals
		if b := meta.Get(totalsKey); b != nil {
			if t, err = decodeTotals(b); err != nil {
				return err
			}
		}
		past, err := s.begin(tx, t.revision, revision.Time)
		if err != nil {
			return err
		}
		t.revision = revision.Number
		for _, ref := range s.orphans {
			if err := t.change(objects, snapshot.Change{Before: &api.Object{Ref: ref}}, s.cfg.Encode); err != nil {
				return err
			}
		}
		lasting := store.Lasting(changes)
		revision.Objects = store.ResultsOf(lasting)
		if err := past.keep(revision, recorded(objects, lasting)); err != nil {
			return err
		}
		for _, c := range changes {
			if err := t.change(objects, c, s.cfg.Encode); err != nil {
				return err
			}
		}
		after = past.kept
		return meta.Put(totalsKey, t.encode())
	})
	if err == nil {
		s.kept = after
	}
	return err
}

// recorded are the objects before changes, as their records have them.
func recorded(objects *bbolt.Bucket, changes []snapshot.Change) []before {
	out := make([]before, len(changes))
	for i, c := range changes {
		key := recordKey(c.Ref())
		out[i].Key = string(key)
		if old := objects.Get(key); c.Before != nil && len(old) > 4 {
			out[i].Body = old[4:]
		}
	}
	return out
}

func (t *totals) change(objects *bbolt.Bucket, c snapshot.Change, encode func(*api.Object) ([]byte, error)) error {
	key := recordKey(c.Ref())
	if old := objects.Get(key); old != nil {
		t.remove(old)
	}
	if c.After == nil {
		return objects.Delete(key)
	}
	record, err := recordOf(key, c.After, encode)
	if err != nil {
		return err
	}
	t.add(record)
	return objects.Put(key, record)
}
