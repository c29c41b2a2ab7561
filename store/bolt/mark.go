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
	m = &mark{f}
	b := make([]byte, 2*slotSize)
	n, _ := f.ReadAt(b, 0)
	if n == 0 {
		return m, 0, nil
	}
	valid := false
	for _, slot := range [][]byte{b[:slotSize], b[slotSize:]} {
		if crc32.Checksum(slot[:8], castagnoli) == binary.BigEndian.Uint32(slot[8:]) {
			high, valid = max(high, binary.BigEndian.Uint64(slot)), true
		}
	}
	if !valid {
		return nil, 0, errors.Join(fmt.Errorf("%s is damaged; if `weft store check` finds the store whole, remove that file", path), f.Close())
	}
	return m, high, nil
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
