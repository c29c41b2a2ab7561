package main

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/unsupported"
	"github.com/weftmesh/weft/control/world"
)

// skipUnsupported takes the documents out of a reading that are of kinds which weft has not, and makes
// warnings of them. Their lines stay, empty, so that places in the others are what they were. What
// stands in a list or in JSON is not taken out, and stays a mistake.
func skipUnsupported(reading *world.Reading) (left []*api.Violation) {
	for _, v := range reading.Violations {
		if v.Severity != api.Error || v.Code != unsupported.CodeUnsupportedKind && v.Code != unsupported.CodeForeignKind {
			continue
		}
		i := slices.IndexFunc(reading.Texts, func(t decode.Text) bool { return t.File == v.File })
		if i < 0 {
			continue
		}
		if rest, ok := without(string(reading.Texts[i].Text), v.Line, v.Object.Kind); ok {
			reading.Texts[i].Text = []byte(rest)
			v.Severity = api.Warning
			v.Message = "the document is left out: " + v.Message
			left = append(left, v)
		}
	}
	return left
}

// without is a text without the document of a kind that has a line, counted from 1; not ok where that
// is no document of its own.
func without(text string, line int, kind string) (string, bool) {
	lines := strings.SplitAfter(text, "\n")
	if line < 1 || line > len(lines) {
		return "", false
	}
	begins := func(i int) bool {
		l := strings.TrimRight(lines[i], " \t\r\n")
		return l == "---" || strings.HasPrefix(l, "--- ")
	}
	from, to := line-1, line
	for from > 0 && !begins(from) {
		from--
	}
	for to < len(lines) && !begins(to) {
		to++
	}
	own := slices.ContainsFunc(lines[from:to], func(l string) bool {
		key, value, ok := strings.Cut(l, ":")
		value, _, _ = strings.Cut(value, " #")
		return ok && (key == "kind" || key == "type") && strings.Trim(value, " \t\r\n\"'") == kind
	})
	if !own {
		return "", false
	}
	for i := from; i < to; i++ {
		if !begins(i) || strings.TrimSpace(lines[i]) != "---" {
			lines[i] = map[bool]string{true: "\n"}[strings.HasSuffix(lines[i], "\n")]
		}
	}
	return strings.Join(lines, ""), true
}
