package bolt

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/bbolt"

	"github.com/weftmesh/weft/store"
)

// A revision has two records in the bucket history: who changed what, and the records that
// the objects had before, as they stood in the file, with what is sealed still sealed. Both
// are written in the transaction of the revision itself. Beside them stands the revision up
// to which the history is complete: a weft that knows no history leaves it behind.
var (
	historyBucket = []byte("history")
	completeKey   = []byte("\x00complete")
)

// The keys of a history begin with a zero byte, which no key of an object does.
var (
	toldPrefix   = []byte("\x00r")
	beforePrefix = []byte("\x00u")
)

const (
	// historyAge is for how long a revision is kept (spec/contract.md 3).
	historyAge = 30 * 24 * time.Hour
	// largestHistory bounds what all revisions take in the file, in bytes; the last one stays
	// whatever it takes.
	largestHistory = 256 << 20
)

// told is who changed what, as it is stored.
type told struct {
	Time    time.Time `json:"time"`
	User    string    `json:"user,omitempty"`
	Client  string    `json:"client,omitempty"`
	Objects []act     `json:"objects"`
}

type act struct {
	Key    string            `json:"key"`
	Action store.WriteAction `json:"action"`
}

// before is what an object was before a revision.
type before struct {
	Key  string          `json:"key"`
	Body json.RawMessage `json:"body,omitempty"` // of its record; none where it was not there
}

func revisionKey(prefix []byte, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(prefix), revision)
}

// isHistory tells a record of a revision from one of an object.
func isHistory(key []byte) bool { return len(key) > 0 && key[0] == 0 }

// kept is how much a history holds.
type kept struct {
	count int
	bytes int64
}

// history is the part of the transaction of a revision that keeps it.
type history struct {
	bucket *bbolt.Bucket
	most   int
	now    time.Time
	kept
}

// begin opens the history in a transaction, at the revision that the file has. One with a gap
// begins anew.
func (s *Store) begin(tx *bbolt.Tx, revision uint64, now time.Time) (*history, error) {
	b, err := tx.CreateBucketIfNotExists(historyBucket)
	if err != nil {
		return nil, err
	}
	h := &history{bucket: b, most: s.cfg.History, now: now, kept: s.kept}
	if complete(b, revision) {
		return h, nil
	}
	if err := tx.DeleteBucket(historyBucket); err != nil {
		return nil, err
	}
	h.kept = kept{}
	h.bucket, err = tx.CreateBucket(historyBucket)
	return h, err
}

// complete reports whether a history knows all revisions up to the one of its file.
func complete(b *bbolt.Bucket, revision uint64) bool {
	text := b.Get(completeKey)
	return len(text) == 8 && binary.BigEndian.Uint64(text) == revision
}

// keep adds a revision with the records that its objects had, and lets go of what is too much.
func (h *history) keep(r store.Revision, was []before) error {
	if err := h.bucket.Put(completeKey, binary.BigEndian.AppendUint64(nil, r.Number)); err != nil {
		return err
	}
	if len(was) > 0 && h.most > 0 {
		t := told{Time: r.Time, User: r.User, Client: r.Client}
		for _, o := range r.Objects {
			t.Objects = append(t.Objects, act{string(recordKey(o.Ref)), o.Action})
		}
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		packed, err := pack(was)
		if err != nil {
			return err
		}
		if err := errors.Join(h.put(toldPrefix, r.Number, text), h.put(beforePrefix, r.Number, packed)); err != nil {
			return err
		}
		h.count++
	}
	return h.prune()
}

func (h *history) put(prefix []byte, revision uint64, text []byte) error {
	key := revisionKey(prefix, revision)
	value := append(binary.BigEndian.AppendUint32(nil, checksum(key, text)), text...)
	h.bytes += int64(len(value))
	return h.bucket.Put(key, value)
}

// prune lets go of the oldest revisions, as long as there are too many of them, or too old ones.
func (h *history) prune() error {
	for h.count > 0 {
		key, value := h.bucket.Cursor().Seek(toldPrefix)
		if !bytes.HasPrefix(key, toldPrefix) {
			h.kept = kept{}
			return nil
		}
		text, err := intact(key, value)
		var t told
		if err == nil {
			err = json.Unmarshal(text, &t)
		}
		old := err == nil && h.now.Sub(t.Time) > historyAge
		if !old && h.count <= h.most && (h.bytes <= largestHistory || h.count == 1) {
			return nil
		}
		second := append(bytes.Clone(beforePrefix), key[len(toldPrefix):]...)
		h.count--
		h.bytes -= int64(len(value) + len(h.bucket.Get(second)))
		if err := errors.Join(h.bucket.Delete(bytes.Clone(key)), h.bucket.Delete(second)); err != nil {
			return err
		}
	}
	return nil
}

// intact is the text of a record of a history.
func intact(key, value []byte) ([]byte, error) {
	if len(value) < 4 || checksum(key, value[4:]) != sumOf(value) {
		return nil, fmt.Errorf("record %q: %w", key, errChecksum)
	}
	return value[4:], nil
}

// pack compresses records, of which there are many alike.
func pack(was []before) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	err = errors.Join(json.NewEncoder(w).Encode(was), w.Close())
	return out.Bytes(), err
}

func unpack(text []byte) (was []before, err error) {
	r := flate.NewReader(bytes.NewReader(text))
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return was, json.Unmarshal(all, &was)
}

// measure is how much the history of a file holds.
func measure(tx *bbolt.Tx, revision uint64) (k kept, err error) {
	b := tx.Bucket(historyBucket)
	if b == nil || !complete(b, revision) {
		return k, nil
	}
	return k, b.ForEach(func(key, value []byte) error {
		if bytes.HasPrefix(key, toldPrefix) {
			k.count++
		}
		if !bytes.Equal(key, completeKey) {
			k.bytes += int64(len(value))
		}
		return nil
	})
}
