package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of a character cell and of the frame, in pixels.
const (
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 24
)

// escape is a change of a terminal's colours.
var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// svg draws the content of a terminal.
func svg(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(escape.ReplaceAllString(l, "")))
	}
	var b strings.Builder
	w, h := int(float64(width)*cellWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="what weft simulate prints">`+"\n", w, h, w, h)
	b.WriteString(`<style>
 rect { fill: #14171c }
 text { fill: #d7dce2; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
 .b { fill: #fff; font-weight: 700 }
 .d { fill: #8b949e }
 .s { text-decoration: line-through }
</style>
`)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" rx=\"8\"/>\n", w, h)
	for i, l := range lines {
		if l == "" {
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", margin, margin+(i+1)*lineHeight-6, spans(l))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// spans is a line with each run of one style in an element of its own.
func spans(line string) string {
	var b strings.Builder
	style, from := "", 0
	flush := func(to int) {
		if from < to && style == "" {
			b.WriteString(escaped(line[from:to]))
		} else if from < to {
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, style, escaped(line[from:to]))
		}
	}
	for _, m := range escape.FindAllStringSubmatchIndex(line, -1) {
		flush(m[0])
		style, from = classes(line[m[2]:m[3]]), m[1]
	}
	flush(len(line))
	return b.String()
}

// classes are the styles of a terminal's codes: bold, faint, struck through.
func classes(codes string) string {
	names := map[string]string{"1": "b", "2": "d", "9": "s"}
	var out []string
	for _, c := range strings.Split(codes, ";") {
		if n := names[c]; n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}
