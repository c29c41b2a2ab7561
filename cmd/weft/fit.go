package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftmesh/weft/inspect"
)

// Between columns of a table, and what a column keeps that gives way.
const (
	gap         = 3
	leastColumn = 8
)

// fit are rows that take so many columns of a terminal at most, as far as that is possible:
// the widest column gives way first, and a cell that is cut says so by its end.
func fit(rows [][]string, columns int) [][]string {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > columns {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= leastColumn {
			break
		}
		widths[widest]--
		total--
	}
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
		for j := range r {
			out[i][j] = shortened(r[j], widths[j])
		}
	}
	return out
}

// shortened is text in so many columns.
func shortened(text string, columns int) string {
	if columns < 1 || utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}

// waitingFor is one line about those who are waited for: a bar, counts, and who is late.
func waitingFor(s inspect.Sync, expect int, why error, columns int) string {
	const cells = 20
	text := oneLine(why.Error())
	if whole := max(s.InSync+len(s.Behind)+len(s.Refusing)+len(s.Awaited), expect); whole > 0 {
		full := s.InSync * cells / whole
		text = fmt.Sprintf("[%s%s] %d/%d  %s", strings.Repeat("█", full), strings.Repeat("·", cells-full), s.InSync, whole, text)
	}
	if columns > 0 {
		text = shortened(text, columns-1) // the last column would begin another line
	}
	return text
}
