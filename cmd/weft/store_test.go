package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// last is a file whose data may not reach the disk.
type last struct{ sync, close error }

func (l last) Sync() error  { return l.sync }
func (l last) Close() error { return l.close }

func TestSavedMeansThatItIsOnTheDisk(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for _, c := range []struct {
		file  last
		write error
	}{{last{}, full}, {last{sync: full}, nil}, {last{close: full}, nil}} {
		if err := finish(c.file, c.write); !errors.Is(err, full) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := finish(last{}, nil); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "saved.yaml")
	if err := saveTo(path, func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("it said %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a file stays: %v", err)
	}
	if err := saveTo(path, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Error(err)
	}
	if err := saveTo(path, func(io.Writer) error { return nil }); !errors.Is(err, os.ErrExist) {
		t.Errorf("it overwrites: %v", err)
	}
}
