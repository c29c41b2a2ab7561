package bolt

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/weftmesh/weft/api"
)

// Rewrite gives every document of a kind another text, those of the history too, all or none: it is
// how documents are sealed anew. No other process may have the store open. It counts documents.
func Rewrite(dir, kind string, anew func(ref api.Ref, file string, text []byte) ([]byte, error)) (count int, err error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); err != nil {
		return 0, err
	}
	defer recoverDamage(path, &err)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return 0, fmt.Errorf("open the store %s: %w", path, errInUse)
	}
	if err != nil {
		return 0, fmt.Errorf("open the store %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := rewriting{kind: kind, anew: anew}
	err = db.Update(func(tx *bbolt.Tx) error { return errors.Join(r.objects(tx), r.history(tx)) })
	return r.count, err
}

type rewriting struct {
	kind  string
	anew  func(ref api.Ref, file string, text []byte) ([]byte, error)
	count int
}

// body is a record of a document with another text; not ok where it is of another kind.
func (r *rewriting) body(key []byte, b body) (out body, ok bool, err error) {
	ref, err := refOf(key)
	if err != nil || ref.Kind != r.kind {
		return b, false, nil
	}
	for _, text := range []*string{&b.Text, &b.As} {
		if *text == "" {
			continue
		}
		next, err := r.anew(ref, b.File, []byte(*text))
		if err != nil {
			return b, false, fmt.Errorf("%s: %w", ref, err)
		}
		*text = string(next)
	}
	r.count++
	return b, true, nil
}

// checked is a value with its checksum.
func checked(key, text []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, checksum(key, text)), text...)
}

func (r *rewriting) objects(tx *bbolt.Tx) error {
	objects, meta := tx.Bucket(objectsBucket), tx.Bucket(metaBucket)
	if objects == nil || meta == nil {
		return nil
	}
	t, err := decodeTotals(meta.Get(totalsKey))
	if err != nil {
		return err
	}
	next := map[string][]byte{}
	err = objects.ForEach(func(key, value []byte) error {
		b, err := parse(key, value)
		if err != nil {
			return err
		}
		b, ok, err := r.body(key, b)
		if err != nil || !ok {
			return err
		}
		text, err := json.Marshal(b)
		next[string(key)] = checked(key, text)
		return err
	})
	if err != nil {
		return err
	}
	for key, value := range next {
		t.remove(objects.Get([]byte(key)))
		t.add(value)
		if err := objects.Put([]byte(key), value); err != nil {
			return err
		}
	}
	return meta.Put(totalsKey, t.encode())
}

func (r *rewriting) history(tx *bbolt.Tx) error {
	past := tx.Bucket(historyBucket)
	if past == nil {
		return nil
	}
	next := map[string][]byte{}
	c := past.Cursor()
	for key, value := c.Seek(beforePrefix); len(key) > len(beforePrefix) && string(key[:len(beforePrefix)]) == string(beforePrefix); key, value = c.Next() {
		text, err := intact(key, value)
		if err != nil {
			return err
		}
		was, err := unpack(text)
		if err != nil {
			return err
		}
		changed := false
		for i := range was {
			ok, err := r.before(&was[i])
			if err != nil {
				return err
			}
			changed = changed || ok
		}
		if !changed {
			continue
		}
		packed, err := pack(was)
		if err != nil {
			return err
		}
		next[string(key)] = checked(key, packed)
	}
	for key, value := range next {
		if err := past.Put([]byte(key), value); err != nil {
			return err
		}
	}
	return nil
}

// before rewrites what an object was; false where that stays.
func (r *rewriting) before(was *before) (bool, error) {
	if len(was.Body) == 0 {
		return false, nil
	}
	var b body
	if err := json.Unmarshal(was.Body, &b); err != nil {
		return false, err
	}
	b, ok, err := r.body([]byte(was.Key), b)
	if err != nil || !ok {
		return false, err
	}
	r.count-- // it is counted where it is now
	was.Body, err = json.Marshal(b)
	return true, err
}
