package main

import (
	"os"
	"testing"
)

// Colours are for terminals that have them, and people who want them.
func TestColours(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	plain, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, c := range []struct {
		to                *os.File
		term, no          string
		coloured, stepped bool
	}{
		{device, "xterm-256color", "", true, true},
		{device, "xterm-256color", "1", false, true},
		{device, "dumb", "", false, false},
		{plain, "xterm-256color", "", false, false},
	} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.no)
		a := &app{out: c.to, err: c.to}
		if got := a.style().Colour; got != c.coloured {
			t.Errorf("%+v: colours: %v", c, got)
		}
		if got := overwrites(c.to); got != c.stepped {
			t.Errorf("%+v: lines that are written over: %v", c, got)
		}
	}
}
