package file

import (
	"io/fs"
	"time"
)

// stamp tells whether a file may have changed since it was read; the zero stamp
// tells nothing.
type stamp struct {
	size     int64
	modified time.Time
	changed  time.Time // by the clock of the system, which no program can set back
	file     uint64
}

// stampOf is the stamp of a file as read at now. A file that was changed a
// moment ago may change again within one tick of the clock: that proves nothing
// yet.
func stampOf(info fs.FileInfo, now time.Time) stamp {
	changed, file, ok := identity(info)
	if !ok || now.Sub(changed) < time.Second {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), changed, file}
}
