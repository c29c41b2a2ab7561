//go:build !linux

package file

import (
	"io/fs"
	"time"
)

// identity tells nothing: files are read and compared.
func identity(fs.FileInfo) (changed time.Time, file uint64, ok bool) { return time.Time{}, 0, false }
