package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// mark is the last acknowledged revision in a file of its own. It has two
// slots, written in turn, so that a torn write spoils only the one that was
// not acknowledged yet.
type mark struct {
	file *os.File
}

const slotSize = 12 // revision, checksum

// openMark opens or makes the file; high is zero where it is new.
func openMark(path string) (m *mark, high uint64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open the store's revision: %w", err)
	}
	high, valid := highest(f)
	if !valid {
		return nil, 0, errors.Join(fmt.Errorf("%s is damaged; if `weft store check` finds the store whole, remove that file", path), f.Close())
	}
	return &mark{f}, high, nil
}

// readMark is the last acknowledged revision, zero where none can be read. It
// changes nothing.
func readMark(path string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	high, _ := highest(f)
	return high
}

// highest is the revision of the newer of two slots; a new file has none.
func highest(f *os.File) (high uint64, valid bool) {
	b := make([]byte, 2*slotSize)
	if n, _ := f.ReadAt(b, 0); n == 0 {
		return 0, true
	}
	for _, slot := range [][]byte{b[:slotSize], b[slotSize:]} {
		if crc32.Checksum(slot[:8], castagnoli) == binary.BigEndian.Uint32(slot[8:]) {
			high, valid = max(high, binary.BigEndian.Uint64(slot)), true
		}
	}
	return high, valid
}

func (m *mark) set(revision uint64) error {
	slot := binary.BigEndian.AppendUint64(nil, revision)
	slot = binary.BigEndian.AppendUint32(slot, crc32.Checksum(slot, castagnoli))
	if _, err := m.file.WriteAt(slot, int64(revision%2)*slotSize); err != nil {
		return err
	}
	return m.file.Sync()
}

func (m *mark) close() error { return m.file.Close() }
