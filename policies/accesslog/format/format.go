// Package format reads the formats of Envoy's access logs: text with commands such as %PROTOCOL% or
// %REQ(USER-AGENT):20%, and those of Kuma's that the mesh fills in, such as %KUMA_MESH%.
//
// It promises that what Parse takes, Envoy takes too (spec/kinds.md F12): one wrong command would cost
// the listener that it stands in.
package format

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
)

// Format is a format that was read: its parts in order.
type Format []Part

// Part is text, or a command where Name is set.
type Part struct {
	Text string // as written, with %% for a percent sign, or the whole command
	Name string // REQ, KUMA_MESH
	// Argument is what stands in parentheses; Called says that there are any.
	Argument string
	Called   bool
	length   string // what stands behind a colon
}

// token is a command as Envoy finds it, at the beginning of what is left.
var token = regexp.MustCompile(`^%([A-Z0-9_]+)(\((.*?)\))?(?::([0-9]+))?%`)

// Parse reads text. Its error is for people, and names the first command that Envoy would refuse.
func Parse(text string) (Format, error) {
	var out Format
	plain := func(s string) {
		if n := len(out); n > 0 && out[n-1].Name == "" {
			out[n-1].Text += s
		} else {
			out = append(out, Part{Text: s})
		}
	}
	for rest := text; rest != ""; {
		at := strings.IndexByte(rest, '%')
		switch {
		case at < 0:
			plain(rest)
			return out, nil
		case at > 0:
			plain(rest[:at])
			rest = rest[at:]
			continue
		case strings.HasPrefix(rest, "%%"):
			plain("%%")
			rest = rest[2:]
			continue
		}
		m := token.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("no command begins with the percent sign of %q; write %%%% for the sign itself, or a command such as %%PROTOCOL%% or %%REQ(USER-AGENT)%%", beginning(rest))
		}
		p := Part{Text: m[0], Name: m[1], Argument: m[3], Called: m[2] != "", length: m[4]}
		if err := p.check(); err != nil {
			return nil, err
		}
		out, rest = append(out, p), rest[len(m[0]):]
	}
	return out, nil
}

// beginning is as much of text as shows where it is wrong.
func beginning(text string) string {
	const most = 20
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// check is what Envoy would refuse of a command.
func (p *Part) check() error {
	c, known := commands[p.Name]
	if !known {
		return p.unknown()
	}
	if _, err := strconv.ParseUint(p.length, 10, 64); p.length != "" && err != nil {
		return p.wrong("the length behind the colon is too great; write a smaller one")
	}
	switch {
	case p.length != "" && !c.length:
		return p.wrong("the command takes no length behind a colon; remove it")
	case c.argument == nil && p.Argument != "":
		return p.wrong("the command takes nothing in parentheses; remove them")
	case c.needed && p.Argument == "":
		return p.wrong("the command needs something in parentheses; write it such as " + c.example)
	case c.argument == nil || p.Argument == "":
		return nil
	}
	if err := c.argument(p.Argument); err != nil {
		return p.wrong(err.Error() + "; write it such as " + c.example)
	}
	return nil
}

func (p *Part) wrong(why string) error {
	return errors.New(redact.Clip(p.Text) + ": " + why)
}

// unknown says which command was meant.
func (p *Part) unknown() error {
	if strings.HasPrefix(p.Name, kuma) {
		return p.wrong("nothing of the mesh has this name; " + nearest.DidYouMean(p.Name, ofMesh, "there are"))
	}
	if near := nearest.To(p.Name, Names(), 3); len(near) > 0 {
		return p.wrong("Envoy has no such command; did you mean " + strings.Join(near, " or ") + "?")
	}
	return p.wrong("Envoy has no such command; write %% for a percent sign")
}

// Fill is the format for Envoy, with what value gives in the place of each command of Kuma's.
func (f Format) Fill(value func(name string) string) string {
	var b strings.Builder
	for _, p := range f {
		if p.OfMesh() {
			b.WriteString(value(p.Name))
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// OfMesh reports whether p is a command that the mesh fills in.
func (p *Part) OfMesh() bool { return strings.HasPrefix(p.Name, kuma) }

// Number reports whether what p finds is a number.
func (p *Part) Number() bool {
	return numbers.MatchString(p.Name) || p.Name == "GRPC_STATUS" && p.Argument == "NUMBER"
}

// Value reports whether what p finds may be an object, a list or another value of JSON.
func (p *Part) Value() bool { return slices.Contains(values, p.Name) }

// Always reports whether p finds something in each line: what Envoy writes for it is never left out.
func (p *Part) Always() bool { return slices.Contains(always, p.Name) }

// Constant reports whether f has no commands: it is the same in each line.
func (f Format) Constant() bool { return len(f) == 0 || len(f) == 1 && f[0].Name == "" }

// Literal is text as a format, of which no percent sign begins a command.
func Literal(text string) string { return strings.ReplaceAll(text, "%", "%%") }
