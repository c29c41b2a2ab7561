package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weftmesh/weft/api"
)

// CheckReport is what Check found in a file.
type CheckReport struct {
	Revision  uint64 `json:"revision"`            // of the file; 0 where its totals are lost
	Recorded  uint64 `json:"recorded"`            // the last revision that was acknowledged
	Records   int    `json:"records"`             // readable or not
	Damaged   int    `json:"damaged"`             // records whose checksum is wrong
	Missing   int    `json:"missing"`             // records that the totals count and nobody finds
	Structure string `json:"structure,omitempty"` // why the walk ended early
}

// Sound reports whether nothing is wrong.
func (f CheckReport) Sound() bool {
	return f.Damaged == 0 && f.Missing == 0 && f.Structure == "" && f.Revision >= f.Recorded
}

// Check looks at a file that no process has open, and changes nothing.
func Check(path string) (CheckReport, error) {
	var f CheckReport
	want, err := records(path, func(key, record []byte) {
		f.Records++
		if _, err := parse(key, record); err != nil {
			f.Damaged++
		}
	}, &f.Structure)
	if err != nil {
		return f, err
	}
	f.Revision = want.revision
	f.Missing = max(0, int(want.count)-f.Records)
	f.Recorded = readMark(filepath.Join(filepath.Dir(path), MarkName))
	return f, nil
}

// Export writes every document whose record is whole as a stream of documents,
// and says how many there were. Secrets are left out: what is sealed is of use in
// this store alone. It works on a damaged file as far as its pages can be followed.
func Export(path string, out io.Writer) (saved, secrets int, err error) {
	var failed error
	var structure string
	_, err = records(path, func(key, record []byte) {
		b, err := parse(key, record)
		if err != nil || failed != nil {
			return
		}
		if ref, err := refOf(key); err == nil && ref.Kind == api.KindSecret {
			secrets++
			return
		}
		if _, failed = fmt.Fprintf(out, "---\n%s\n", bytes.TrimRight([]byte(b.Text), "\n")); failed == nil {
			saved++
		}
	}, &structure)
	if err == nil {
		err = failed
	}
	return saved, secrets, err
}

// records walks the file page by page and calls each for every record. What it
// cannot follow it says in structure; then it looks at every page by itself.
func records(path string, each func(key, record []byte), structure *string) (totals, error) {
	f, err := os.Open(path)
	if err != nil {
		return totals{}, err
	}
	defer f.Close()
	if err := nobodyWrites(f); err != nil {
		return totals{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return totals{}, err
	}
	var want totals
	type pair struct{ key, record string }
	seen := map[string]bool{}
	var found []pair
	w := &walk{file: f, size: info.Size(), seen: map[uint64]bool{}, record: func(key, value []byte) {
		switch {
		case bytes.Equal(key, totalsKey):
			want, _ = decodeTotals(value)
		case isHistory(key): // of what was, which is not saved
		case !seen[string(key)]:
			seen[string(key)] = true
			found = append(found, pair{string(key), string(value)})
		}
	}}
	root, err := w.meta()
	if err == nil {
		err = w.page(root, 0, span{})
	}
	if err != nil {
		*structure = err.Error()
		w.everyPage()
	}
	for _, p := range found {
		each([]byte(p.key), []byte(p.record))
	}
	return want, nil
}

// everyPage takes each leaf that still looks like one, in use or not; of a
// record that stands on several, the checksum tells only that it is whole.
func (w *walk) everyPage() {
	if w.pageSize == 0 {
		w.pageSize = int64(os.Getpagesize())
	}
	head := make([]byte, headSize)
	for id := uint64(2); int64(id) < w.size/w.pageSize; id++ {
		if _, err := w.file.ReadAt(head, int64(id)*w.pageSize); err != nil || binary.LittleEndian.Uint16(head[8:]) != leafPage || w.seen[id] {
			continue
		}
		_ = w.page(id, maxDepth, span{}) // what is wrong with it was said already
	}
}
