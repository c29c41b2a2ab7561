package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestSavedMeansThatItIsOnTheDisk(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
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
