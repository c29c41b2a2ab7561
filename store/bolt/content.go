package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"github.com/weftmesh/weft/api"
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
}

// load reads everything and proves that it is complete.
func load(db *bbolt.DB, cfg Config) (c content, err error) {
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
		return objects.ForEach(func(k, v []byte) error {
			got.add(v)
			return c.read(k, v, cfg)
		})
	})
	if err != nil {
		return content{}, err
	}
	if want.count != got.count || want.sum != got.sum {
		return content{}, fmt.Errorf("it has %d records with sum %08x, but %d with sum %08x were written", got.count, got.sum, want.count, want.sum)
	}
	c.revision = want.revision
	return c, nil
}

// read takes one record; what is whole but cannot be decoded is a problem, not damage.
func (c *content) read(k, v []byte, cfg Config) error {
	b, err := parse(k, v)
	if err != nil {
		return err
	}
	ref, err := refOf(k)
	if err != nil {
		return err
	}
	o, err := b.object(ref, cfg.Decode)
	if err != nil {
		c.problems = append(c.problems, &api.Violation{Position: api.Position{File: b.File, Line: b.Line}, Object: ref, Code: "Unreadable",
			Severity: api.Error, Message: "stored, but not served: " + err.Error() + "; apply it again in a form that this weft knows, or delete it"})
		return nil
	}
	c.objects = append(c.objects, o)
	return nil
}

// write does changes in one transaction; revision 0 leaves the revision as it is.
func (s *Store) write(revision uint64, changes []api.Change) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverDamage(s.db.Path(), &err)
	return s.db.Update(func(tx *bbolt.Tx) error {
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
		t.revision = max(t.revision, revision)
		for _, c := range changes {
			if err := t.change(objects, c, s.encode); err != nil {
				return err
			}
		}
		return meta.Put(totalsKey, t.encode())
	})
}

func (t *totals) change(objects *bbolt.Bucket, c api.Change, encode func(*api.Object) ([]byte, error)) error {
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
