package top

import (
	"bytes"
	"io"
)

// Keys that are no characters.
const (
	keyUp     = "up"
	keyDown   = "down"
	keyEscape = "\x1b"
)

// sequences are what terminals send for them.
var sequences = []struct{ sends, key string }{{"\x1b[A", keyUp}, {"\x1bOA", keyUp}, {"\x1b[B", keyDown}, {"\x1bOB", keyDown}}

// readKeys ends with its reader: with the process where nobody presses a key. Who reads them slowly gets
// those that there is room for.
func readKeys(in io.Reader, keys chan<- string) {
	defer close(keys)
	some := make([]byte, 64)
	for {
		n, err := in.Read(some)
		if err != nil {
			return
		}
		for rest := some[:n]; len(rest) > 0; {
			key := string(rest[:1])
			sent := 1
			for _, s := range sequences {
				if bytes.HasPrefix(rest, []byte(s.sends)) {
					key, sent = s.key, len(s.sends)
				}
			}
			rest = rest[sent:]
			select {
			case keys <- key:
			default:
			}
		}
	}
}

// quits reports whether a key ends the view: Ctrl-C and Ctrl-D always do, q where it is no letter of a filter.
func (v *View) quits(key string) bool {
	return key == "\x03" || key == "\x04" || (key == "q" || key == "Q") && !v.Traffic.typing
}

// key does what a key asks for.
func (v *View) key(key string, ask Asker) {
	t := &v.Traffic
	switch {
	case key == "t" && !t.typing:
		if t.Shown = !t.Shown; t.Shown {
			ask.Want(&t.Ask)
		} else {
			ask.Want(nil)
		}
	case t.Shown && t.key(key):
		ask.Want(&t.Ask)
	}
}

// help is what keys do now.
func (v *View) help() string {
	switch {
	case !v.Traffic.Shown:
		return "t traffic   q quits"
	case v.Traffic.typing:
		return "Enter keeps the filter   Esc takes it away"
	}
	return "t sidecars   b service, caller, route, rule   s sort   w window   / filter   ↑ ↓ Enter its rules   Esc back   q quits"
}
