package top

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// The commands to a terminal that are needed: another screen without a cursor, and back; to
// the first line, to the end of a line, to the end of the screen.
const (
	enter     = "\x1b[?1049h\x1b[?25l"
	leave     = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	lineRest  = "\x1b[K\r\n"
	emptyRest = "\x1b[K\x1b[J"
)

// between is the least time between two pictures, still the longest.
const (
	between = 100 * time.Millisecond
	still   = time.Second
)

// Screen is a terminal.
type Screen struct {
	In, Out *os.File
	Colours bool
}

// Show draws v, which it is told anew by tells, until somebody presses q or Ctrl-C or ctx is
// over. What of traffic is to be shown it asks for. The terminal is afterwards as it was.
func (s Screen) Show(ctx context.Context, v *View, tells <-chan Tell, ask Asker) error {
	before, err := term.MakeRaw(int(s.In.Fd()))
	if err != nil {
		return fmt.Errorf("take the terminal: %w; use --once where there is none", err)
	}
	defer func() { _ = term.Restore(int(s.In.Fd()), before) }() // nothing is left to do without
	if _, err := io.WriteString(s.Out, enter); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	defer func() { _, _ = io.WriteString(s.Out, leave) }()
	keys := make(chan string, 16)
	go readKeys(s.In, keys)
	redraw := time.NewTimer(0)
	defer redraw.Stop()
	stale := true // the timer runs for a new picture
	var drawn time.Time
	soon := func() {
		if !stale {
			stale = true
			redraw.Reset(max(between-time.Since(drawn), 0))
		}
	}
	if v.Traffic.Shown {
		ask.Want(&v.Traffic.Ask)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case key, ok := <-keys:
			if !ok || v.quits(key) {
				return nil
			}
			v.key(key, ask)
			soon()
		case t := <-tells:
			t(v, time.Now())
			soon()
		case <-redraw.C:
			if err := s.draw(v); err != nil {
				return err
			}
			stale, drawn = false, time.Now()
			redraw.Reset(still)
		}
	}
}

// draw writes a picture in one piece, over the one before.
func (s Screen) draw(v *View) error {
	columns, rows, err := term.GetSize(int(s.Out.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		columns, rows = 80, 24
	}
	lines := v.Lines(columns, rows-1, time.Now(), s.Colours)
	lines = append(lines, line{text(subtle, "%s", v.help())}.fitted(columns, s.Colours))
	if _, err := io.WriteString(s.Out, home+strings.Join(lines, lineRest)+emptyRest); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}
