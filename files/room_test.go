package files_test

import (
	"path/filepath"
	"testing"

	"github.com/weftmesh/weft/files"
)

// TestRoom: of a directory that is there the room is known, and of none where there is none.
func TestRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if free, known := files.Room(dir); !known || free == 0 {
		t.Errorf("%d bytes are free, known %v", free, known)
	}
	if _, known := files.Room(filepath.Join(dir, "none")); known {
		t.Error("there is room where no directory is")
	}
}
