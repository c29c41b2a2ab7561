//go:build unix && !solaris && !netbsd

package files

import (
	"os"
	"syscall"
)

// Room is how many bytes the file system of a directory has left for this user; false where nobody can
// tell.
func Room(dir string) (free uint64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Blocks == 0 {
		return 0, false
	}
	blocks := uint64(max(st.Bavail, 0))
	if os.Geteuid() == 0 { // who may use what is kept back
		blocks = st.Bfree
	}
	return blocks * uint64(st.Bsize), true
}
