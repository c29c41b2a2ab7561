package file

import (
	"io/fs"
	"syscall"
	"time"
)

// identity is when a file's content or attributes changed last, and which file
// it is; false where the system does not tell.
func identity(info fs.FileInfo) (changed time.Time, file uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, 0, false
	}
	return time.Unix(s.Ctim.Unix()), s.Ino, true
}
