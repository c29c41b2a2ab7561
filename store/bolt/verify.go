package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"syscall"
	"time"
)

// verify walks the pages of a bbolt file before bbolt maps it, because bbolt
// trusts them: a wrong page number makes it panic, or go round in a circle
// until the stack is full. It reads with ordinary reads and believes nothing.
func verify(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := nobodyWrites(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	w := &walk{file: f, size: info.Size(), seen: map[uint64]bool{}}
	root, err := w.meta()
	if err != nil {
		return err
	}
	return w.page(root, 0, span{})
}

// span bounds the keys of a page: low <= key < high, where they are set.
type span struct{ low, high []byte }

func (s span) holds(key []byte) bool {
	return (s.low == nil || bytes.Compare(key, s.low) >= 0) && (s.high == nil || bytes.Compare(key, s.high) < 0)
}

var errInUse = errors.New("it is in use by another process; stop it, or give this one a --data-dir of its own")

// nobodyWrites waits a little until no other process has the file open as a store.
func nobodyWrites(f *os.File) error {
	for range 20 {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errInUse
}

// The layout of bbolt's file.
const (
	headSize    = 16
	elementSize = 16
	metaSize    = 64
	bucketSize  = 16
	magic       = 0xED0CDAED
	branchPage  = 0x01
	leafPage    = 0x02
	bucketLeaf  = 0x01
	maxDepth    = 64
)

type walk struct {
	file     *os.File
	size     int64
	pageSize int64
	seen     map[uint64]bool
	// record is called for every plain leaf, where it is set.
	record func(key, value []byte)
}

// meta finds the newest valid meta page and from it the root.
func (w *walk) meta() (root uint64, err error) {
	var newest uint64
	found := false
	for size := int64(1024); size <= 1<<16; size *= 2 {
		for _, at := range []int64{0, size} {
			b := make([]byte, headSize+metaSize)
			if _, err := w.file.ReadAt(b, at); err != nil {
				continue
			}
			m := b[headSize:]
			if !validMeta(m) || int64(binary.LittleEndian.Uint32(m[8:])) != size {
				continue
			}
			if tx := binary.LittleEndian.Uint64(m[48:]); !found || tx > newest {
				found, newest, root, w.pageSize = true, tx, binary.LittleEndian.Uint64(m[16:]), size
			}
		}
	}
	if !found {
		return 0, errors.New("it has no valid first page")
	}
	return root, nil
}

func validMeta(m []byte) bool {
	h := fnv.New64a()
	h.Write(m[:56])
	return binary.LittleEndian.Uint32(m) == magic && h.Sum64() == binary.LittleEndian.Uint64(m[56:])
}

// page checks one page and all below it.
func (w *walk) page(id uint64, depth int, keys span) error {
	if depth > maxDepth || id < 2 || int64(id) >= w.size/w.pageSize || w.seen[id] {
		return fmt.Errorf("page %d is named where it cannot be", id)
	}
	w.seen[id] = true
	head := make([]byte, headSize)
	at := int64(id) * w.pageSize
	if _, err := w.file.ReadAt(head, at); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if got := binary.LittleEndian.Uint64(head); got != id {
		return fmt.Errorf("page %d says that it is page %d", id, got)
	}
	length := (int64(binary.LittleEndian.Uint32(head[12:])) + 1) * w.pageSize
	if at+length > w.size {
		return fmt.Errorf("page %d is longer than the file", id)
	}
	b := make([]byte, length)
	if _, err := w.file.ReadAt(b, at); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if err := w.elements(b, depth, keys); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// elements checks what stands on a page, which may be one inside a bucket's value.
func (w *walk) elements(b []byte, depth int, keys span) error {
	flags, count := binary.LittleEndian.Uint16(b[8:]), int(binary.LittleEndian.Uint16(b[10:]))
	if headSize+count*elementSize > len(b) {
		return fmt.Errorf("%d elements do not fit", count)
	}
	if count > 0 && flags != branchPage && flags != leafPage {
		return fmt.Errorf("it is of no known kind (%#x)", flags)
	}
	var before []byte
	for i := range count {
		key, err := keyAt(b, i, flags)
		if err != nil {
			return err
		}
		if !keys.holds(key) || i > 0 && bytes.Compare(before, key) >= 0 {
			return fmt.Errorf("key %q is out of order", key)
		}
		before = key
		if flags == branchPage {
			err = w.branch(b, i, count, depth, span{key, keys.high})
		} else {
			err = w.leaf(b, i, key, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element is the i-th entry of a page's list, and where it begins.
func element(b []byte, i int) ([]byte, int) {
	at := headSize + i*elementSize
	return b[at : at+elementSize], at
}

func keyAt(b []byte, i int, flags uint16) ([]byte, error) {
	e, at := element(b, i)
	if flags == branchPage {
		return cut(b, at, e[0:], binary.LittleEndian.Uint32(e[4:]))
	}
	return cut(b, at, e[4:], binary.LittleEndian.Uint32(e[8:]))
}

// branch follows an element to the page below, whose keys end where those of
// the next element begin.
func (w *walk) branch(b []byte, i, count, depth int, keys span) error {
	if i+1 < count {
		next, err := keyAt(b, i+1, branchPage)
		if err != nil {
			return err
		}
		keys.high = next
	}
	e, _ := element(b, i)
	return w.page(binary.LittleEndian.Uint64(e[8:]), depth+1, keys)
}

func (w *walk) leaf(b []byte, i int, key []byte, depth int) error {
	e, at := element(b, i)
	both, err := cut(b, at, e[4:], uint32(len(key)), binary.LittleEndian.Uint32(e[12:]))
	if err != nil {
		return err
	}
	value := both[len(key):]
	if binary.LittleEndian.Uint32(e)&bucketLeaf == 0 {
		if w.record != nil {
			w.record(key, value)
		}
		return nil
	}
	if len(value) < bucketSize {
		return errors.New("a bucket is cut short")
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return w.page(root, depth+1, span{})
	}
	if len(value) < bucketSize+headSize || depth > maxDepth {
		return errors.New("an inner bucket is cut short")
	}
	return w.elements(value[bucketSize:], depth+1, span{})
}

// cut is the data of an element: it begins pos after the element itself.
func cut(b []byte, at int, pos []byte, sizes ...uint32) ([]byte, error) {
	begin := int64(at) + int64(binary.LittleEndian.Uint32(pos))
	end := begin
	for _, s := range sizes {
		end += int64(s)
	}
	if end > int64(len(b)) {
		return nil, errors.New("an element lies outside")
	}
	return b[begin:end], nil
}
