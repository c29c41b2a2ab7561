package inspect

import "github.com/weftmesh/weft/api"

// Violation is one finding about a document, as validation and the API say it
// (spec/contract.md 8).
type Violation struct {
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
	Column   int          `json:"column,omitempty"`
	Object   string       `json:"object,omitempty"`
	Field    api.Path     `json:"field,omitempty"`
	Code     string       `json:"code"`
	Message  string       `json:"message"`
	Severity api.Severity `json:"severity"`
}

// ViolationOf is v as it is said.
func ViolationOf(v *api.Violation) Violation {
	out := Violation{File: v.File, Line: v.Line, Column: v.Column, Field: v.Field, Code: v.Code, Message: v.Message, Severity: v.Severity}
	if v.Object.Name != "" {
		out.Object = v.Object.String()
	}
	return out
}
