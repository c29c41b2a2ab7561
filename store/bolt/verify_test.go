package bolt

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/storetest"
)

const testPage = 1024

// pageOf is a page of bbolt's file with a list of elements.
func pageOf(id uint64, flags uint16, elements ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, id)
	b = binary.LittleEndian.AppendUint16(b, flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(elements)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	pos := len(elements) * elementSize
	var data []byte
	for _, e := range elements {
		head, rest := e[:elementSize], e[elementSize:]
		at := 4
		if flags == branchPage {
			at = 0
		}
		binary.LittleEndian.PutUint32(head[at:], uint32(pos+len(data)))
		b, data, pos = append(b, head...), append(data, rest...), pos-elementSize
	}
	return append(b, data...)
}

func leafOf(flags uint32, key, value string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, flags)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	return append(b, key+value...)
}

func branchOf(key string, page uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint64(b, page)
	return append(b, key...)
}

func leaves(id uint64, keys ...string) []byte {
	var list [][]byte
	for _, k := range keys {
		list = append(list, leafOf(0, k, "="+k))
	}
	return pageOf(id, leafPage, list...)
}

// bucketAt is the value of a bucket whose page is elsewhere, or, for page 0, follows.
func bucketAt(page uint64, inner []byte) string {
	b := binary.LittleEndian.AppendUint64(nil, page)
	return string(append(binary.LittleEndian.AppendUint64(b, 0), inner...))
}

// walked is what a walk from page 2 finds in a file of pages, the first of which is page 2.
func walked(t *testing.T, pages ...[]byte) (records string, err error) {
	t.Helper()
	text := make([]byte, (2+len(pages))*testPage)
	for i, p := range pages {
		copy(text[(2+i)*testPage:], p)
	}
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &walk{file: f, size: int64(len(text)), pageSize: testPage, seen: map[uint64]bool{}, record: func(key, value []byte) {
		records += string(key) + string(value) + " "
	}}
	err = w.page(2, 0, span{})
	return records, err
}

// Sound pages are walked in the order of their keys.
func TestWalkOfSoundPages(t *testing.T) {
	t.Parallel()
	for want, pages := range map[string][][]byte{
		"":             {leaves(2)},
		"a=a b=b ":     {leaves(2, "a", "b")},
		"a=a c=c d=d ": {pageOf(2, branchPage, branchOf("a", 4), branchOf("c", 3)), leaves(3, "c", "d"), leaves(4, "a")},
		"a=a x=x z=z ": {pageOf(2, leafPage, leafOf(0, "a", "=a"), leafOf(bucketLeaf, "b", bucketAt(3, nil)), leafOf(0, "z", "=z")), leaves(3, "x")},
		"i=i j=j ":     {pageOf(2, leafPage, leafOf(bucketLeaf, "b", bucketAt(0, leaves(0, "i", "j"))))},
	} {
		if got, err := walked(t, pages...); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// Whatever bbolt would stumble over is found, and said.
func TestWalkOfDamagedPages(t *testing.T) {
	t.Parallel()
	changed := func(page []byte, at int, to byte) []byte { page[at] = to; return page }
	for name, c := range map[string]struct {
		want  string
		pages [][]byte
	}{
		"keys out of order":         {`key "a" is out of order`, [][]byte{leaves(2, "b", "a")}},
		"a later key out of order":  {`key "b" is out of order`, [][]byte{leaves(2, "a", "c", "b")}},
		"a key twice":               {`key "a" is out of order`, [][]byte{leaves(2, "a", "a")}},
		"a key below its branch":    {`key "b" is out of order`, [][]byte{pageOf(2, branchPage, branchOf("a", 3), branchOf("c", 4)), leaves(3, "a"), leaves(4, "b")}},
		"a key of the next branch":  {`key "c" is out of order`, [][]byte{pageOf(2, branchPage, branchOf("a", 3), branchOf("c", 4)), leaves(3, "a", "c"), leaves(4, "d")}},
		"another page's number":     {"page 2 says that it is page 3", [][]byte{leaves(3, "a")}},
		"a child in the first page": {"page 1 is named where", [][]byte{pageOf(2, branchPage, branchOf("a", 1))}},
		"a child behind the end":    {"page 4 is named where", [][]byte{pageOf(2, branchPage, branchOf("a", 4)), leaves(3, "a")}},
		"a circle":                  {"page 2 is named where", [][]byte{pageOf(2, branchPage, branchOf("a", 2))}},
		"a child of two":            {"page 3 is named where", [][]byte{pageOf(2, branchPage, branchOf("a", 3), branchOf("c", 3)), leaves(3, "a")}},
		"longer than the file":      {"is longer than the file", [][]byte{changed(leaves(2, "a"), 12, 1)}},
		"more elements than fit":    {"64 elements do not fit", [][]byte{changed(leaves(2, "a"), 10, 64)}},
		"no known kind":             {"of no known kind (0x7)", [][]byte{changed(leaves(2, "a"), 8, 7)}},
		"data behind the page":      {"page 2", [][]byte{changed(leaves(2, "a"), headSize+5, 0xff)}},
		"a key behind the page":     {"page 2", [][]byte{changed(leaves(2, "a"), headSize+9, 0xff)}},
		"a bucket cut short":        {"a bucket is cut short", [][]byte{pageOf(2, leafPage, leafOf(bucketLeaf, "b", bucketAt(0, nil)[:15]))}},
		"an inner bucket cut short": {"an inner bucket is cut short", [][]byte{pageOf(2, leafPage, leafOf(bucketLeaf, "b", bucketAt(0, leaves(0)[:15])))}},
		"damage in an inner bucket": {`key "i" is out of order`, [][]byte{pageOf(2, leafPage, leafOf(bucketLeaf, "b", bucketAt(0, leaves(0, "j", "i"))))}},
	} {
		if _, err := walked(t, c.pages...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
}

// A chain of pages is followed as deep as bbolt's ever are, and no deeper.
func TestWalkIsBounded(t *testing.T) {
	t.Parallel()
	for deep, sound := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		var pages [][]byte
		for i := range deep {
			pages = append(pages, pageOf(uint64(2+i), branchPage, branchOf("a", uint64(3+i))))
		}
		_, err := walked(t, append(pages, leaves(uint64(2+deep), "a"))...)
		if (err == nil) != sound {
			t.Errorf("%d pages above the last: %v", deep, err)
		}
	}
}

// Where the way to the records is lost they are looked for on all pages: each
// document whose page is whole is saved, once.
func TestSalvageWithoutAWayToTheRecords(t *testing.T) {
	t.Parallel()
	const documents = 200
	dir := t.TempDir()
	s := opened(t, configOf(dir))
	for i := range documents {
		storetest.Put(t, s, storetest.Service(t, fmt.Sprintf("s%03d", i), i+1))
	}
	closing(t, s)
	path := filepath.Join(dir, FileName)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := rootOf(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for name, lost := range map[string][]int{"the root": {int(root)}, "both first pages": {0, 1}} {
		bad := slices.Clone(sound)
		for _, id := range lost {
			clear(bad[id*page : (id+1)*page])
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := Check(path); err != nil || found.Structure == "" || found.Sound() || found.Records != documents || found.Damaged != 0 {
			t.Errorf("without %s: %+v, %v", name, found, err)
		}
		var out strings.Builder
		saved, _, err := Export(path, &out)
		if err != nil || saved != documents || strings.Count(out.String(), "type: MeshService") != documents {
			t.Errorf("without %s: %d documents are saved, %v", name, saved, err)
		}
	}
}

func rootOf(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return (&walk{file: f}).meta()
}
