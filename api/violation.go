package api

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-multierror"
)

// Severity tells a refusal from advice.
type Severity string

// The severities of violations and notes.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Position is a place in a source: 1-based line and column, zero where unknown.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String is file:line:col, without the parts that are unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Violation is a mistake in a document: data for its writer, not a failure of
// the program. It is an error so that go-multierror can carry many of them.
type Violation struct {
	Position
	Object   Ref
	Field    Path
	Code     string // Invalid, UnknownField, TargetNotFound, … (spec/contract.md 6, 9)
	Message  string // what is wrong; what to do
	Severity Severity
}

// Error is the one line of spec/contract.md 1: file:line:col: field: message. A text
// that is no document has no field.
func (v *Violation) Error() string {
	s := v.Message
	if v.Field != "" {
		s = string(v.Field) + ": " + s
	}
	if at := v.Position.String(); at != "" {
		return at + ": " + s
	}
	return s
}

// CodeConflicted marks what another owner keeps from an object.
const CodeConflicted = "Conflicted"

// CodeNoEffect marks what is accepted and acts nowhere.
const CodeNoEffect = "NoEffect"

// Note is what weft has to say about an object that it accepted: a reference
// that leads nowhere, a field that it cannot carry. Nothing is dropped without one.
type Note struct {
	Origin   *Origin  `json:"origin"`
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Field    Path     `json:"field,omitempty"`
	Message  string   `json:"message"`
	Position Position `json:"position,omitzero"`
}

// Notef is a note about what o names, or a field of it, with a formatted message.
func Notef(o *Origin, severity Severity, code string, field Path, format string, args ...any) Note {
	return Note{Origin: o, Severity: severity, Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Violations are those that err carries, in their order.
func Violations(err error) []*Violation {
	var out []*Violation
	var many *multierror.Error
	var one *Violation
	switch {
	case errors.As(err, &many):
		for _, e := range many.Errors {
			out = append(out, Violations(e)...)
		}
	case errors.As(err, &one):
		out = append(out, one)
	}
	return out
}

// Refuses reports whether err is anything but warnings.
func Refuses(err error) bool {
	if err == nil {
		return false
	}
	found := Violations(err)
	for _, v := range found {
		if v.Severity != Warning && v.Severity != Info {
			return true
		}
	}
	return len(found) == 0
}
