package top

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// style is how a part of a line looks on a terminal with colours.
type style string

const (
	plain  style = ""
	bold   style = "1"
	good   style = "32"
	warn   style = "33"
	bad    style = "31"
	subtle style = "2"
)

// part is text in one style. It holds no commands to the terminal.
type part struct {
	style style
	text  string
}

func text(s style, format string, args ...any) part {
	return part{s, cli.Printable(fmt.Sprintf(format, args...))}
}

type line []part

// fitted is l in so many columns, with colours or without; 0 columns are as many as it takes.
func (l line) fitted(columns int, colours bool) string {
	var b strings.Builder
	left := columns
	for _, p := range l {
		t := p.text
		if n := utf8.RuneCountInString(t); columns > 0 && n > left {
			if left == 0 {
				break
			}
			t = string([]rune(t)[:left-1]) + "…"
		}
		left -= utf8.RuneCountInString(t)
		if colours && p.style != plain && t != "" {
			t = "\x1b[" + string(p.style) + "m" + t + "\x1b[0m"
		}
		b.WriteString(t)
	}
	return strings.TrimRight(b.String(), " ")
}

// Lines are what to show in so many columns and rows; 0 is as many as it takes.
func (v *View) Lines(columns, rows int, now time.Time, colours bool) []string {
	all := v.head(columns, now)
	if v.Traffic.Shown {
		return fitted(append(all, v.Traffic.lines(max(rows-len(all), 0), now)...), columns, rows, colours)
	}
	stragglers, changes := v.stragglers(), v.changeLines(now)
	mine, theirs := len(stragglers)+2, len(changes)
	if room := rows - len(all); rows > 0 {
		// Half for stragglers, and each what the other does not need.
		mine = max(min(mine, max(room/2, room-theirs)), 0)
		theirs = min(theirs, max(room-mine, 0))
	}
	all = append(append(all, stragglerLines(stragglers, mine, now)...), cut(changes, theirs, len(changes))...)
	return fitted(all, columns, rows, colours)
}

// fitted are lines in so many columns and rows; 0 is as many as it takes.
func fitted(all []line, columns, rows int, colours bool) []string {
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = l.fitted(columns, colours)
	}
	if rows > 0 && len(out) > rows {
		out = out[:rows]
	}
	return out
}

// cut is as many lines of a list of so many as there is room for, with what is left out as
// the last one.
func cut(first []line, room, all int) []line {
	switch {
	case room <= 0:
		return nil
	case all <= room:
		return first
	}
	return append(slices.Clone(first[:room-1]), line{text(subtle, "  … and %d more", all-room+1)})
}

func (v *View) head(columns int, now time.Time) []line {
	s := v.sync
	state := text(good, "live")
	switch {
	case v.lost != nil:
		state = text(bad, "no answer: %v", v.lost)
	case v.asked.IsZero():
		state = text(warn, "asking")
	}
	first := line{text(bold, "weft top"), text(plain, "  %s  mesh %s  revision %d  ", v.Server, v.Mesh, s.Revision), state}
	if v.asked.IsZero() {
		return []line{first}
	}
	if v.lost != nil {
		first = append(first, text(subtle, "  (as of %s ago)", ago(now.Sub(v.asked))))
	}
	second := line{text(plain, "%d dataplanes: ", s.Total), text(good, "%d in sync", s.InSync), text(plain, ", "), counted(warn, len(s.Behind), "behind"), text(plain, ", "),
		counted(bad, len(s.Refusing), "refusing"), text(plain, ", "), counted(subtle, s.Absent, "not connected")}
	if len(s.Withheld) > 0 {
		second = append(second, text(plain, ", "), counted(bad, len(s.Withheld), "held"))
	}
	out := []line{first, second}
	if columns > 0 && s.Total > 0 {
		out = append(out, bar(min(columns, 100), s.Total, amount{good, s.InSync, '█'}, amount{warn, len(s.Behind), '▒'}, amount{bad, len(s.Refusing), '!'}))
	}
	if len(v.troubled) > 0 {
		out = append(out, line{text(warn, "%d of %d documents do not hold: ", len(v.troubled), v.objects), text(plain, "%s", v.troubled[0])})
	}
	if v.missed > 0 {
		out = append(out, line{text(warn, "%d events came too fast to be shown; counts of changes are too low", v.missed)})
	}
	return out
}

func counted(s style, n int, what string) part {
	if n == 0 {
		s = plain
	}
	return text(s, "%d %s", n, what)
}

type amount struct {
	style style
	n     int
	with  rune
}

// bar shows amounts of a whole; none that is there is too small to be seen.
func bar(columns, whole int, all ...amount) line {
	var out line
	left := columns
	for i := len(all) - 1; i >= 0; i-- { // what is wrong first has its place
		a := all[i]
		n := min(a.n*columns/whole, left)
		if a.n > 0 {
			n = min(max(n, 1), left)
		}
		left -= n
		out = append(line{{a.style, strings.Repeat(string(a.with), n)}}, out...)
	}
	return append(out, part{subtle, strings.Repeat("·", left)})
}

// stragglerLines are so many lines at most: those that nobody sees are not written.
func stragglerLines(all []Straggler, room int, now time.Time) []line {
	if len(all) == 0 {
		return nil
	}
	out := []line{nil, {text(bold, "%-9s %-8s %s", "STATE", "FOR", "DATAPLANE")}}
	for _, s := range all[:min(len(all), max(room, 0))] {
		since, look := "", bad
		if s.Since != nil {
			since = ago(now.Sub(*s.Since))
		}
		if s.State == "behind" || s.State == "awaited" {
			look = warn
		}
		l := line{text(look, "%-9s", s.State), text(plain, " %-8s %s", since, s.Dataplane)}
		if s.Message != "" {
			l = append(l, text(subtle, "  %s", s.Message))
		}
		out = append(out, l)
	}
	return cut(out, room, len(all)+2)
}

func (v *View) changeLines(now time.Time) []line {
	if len(v.revisions) == 0 {
		return nil
	}
	out := []line{nil, {text(bold, "%-9s %-8s %8s %15s %8s  %-14s %s", "REVISION", "AGO", "AFFECTED", "ACKED", "SLOWEST", "BY", "CHANGED")}}
	for _, r := range slices.Backward(v.revisions) {
		affected, acked, slowest, look := "", "", "", plain
		if r.affected >= 0 {
			affected = fmt.Sprint(r.affected)
		}
		if len(r.pushed) > 0 {
			acked, look = fmt.Sprintf("%d of %d", len(r.acked), len(r.pushed)), good
			if len(r.acked) < len(r.pushed) {
				look = warn
			}
		}
		if r.slowest > 0 {
			slowest = ago(r.slowest)
		}
		changed := strings.Join(r.objects, ", ")
		if n := r.changed - len(r.objects); n > 0 {
			changed += fmt.Sprintf(" and %d more", n)
		}
		l := line{text(plain, "%-9d %-8s %8s ", r.number, ago(now.Sub(r.at)), affected), text(look, "%15s", acked), text(plain, " %8s  %-14s %s", slowest, r.by, changed)}
		if len(r.refused) > 0 {
			l = append(l, text(bad, "  %d refuse", len(r.refused)))
		}
		out = append(out, l)
	}
	return out
}

// ago is a duration as short as people say it.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
}
