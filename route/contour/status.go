package contour

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Status is the status of an HTTPProxy as its readers know it.
type Status struct {
	CurrentStatus string              `json:"currentStatus"` // valid, invalid or orphaned
	Description   string              `json:"description"`
	Conditions    []DetailedCondition `json:"conditions"`
}

// DetailedCondition is a condition with all that it is made of.
type DetailedCondition struct {
	Type     string         `json:"type"`
	Status   string         `json:"status"`
	Reason   string         `json:"reason"`
	Message  string         `json:"message"`
	Errors   []SubCondition `json:"errors,omitempty"`
	Warnings []SubCondition `json:"warnings,omitempty"`
}

// SubCondition is one error or warning.
type SubCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// longestMessage is what Kubernetes takes.
const longestMessage = 32760

// status makes of what was found about one object its own errors and warnings; what is
// found about those that it includes is theirs.
func status(f route.Findings) any {
	valid := DetailedCondition{Type: "Valid", Status: "True", Reason: "Valid", Message: "Valid HTTPProxy"}
	out := &Status{CurrentStatus: "valid"}
	var owned *api.Note
	for i := range f.Notes {
		n := &f.Notes[i]
		switch sub, wrong := finding(n); {
		case n.Code == api.CodeConflicted:
			owned = n
		case wrong:
			valid.Errors = append(valid.Errors, sub)
		case n.Severity != api.Info:
			valid.Warnings = append(valid.Warnings, sub)
		}
	}
	if len(valid.Errors) > 0 {
		out.CurrentStatus = "invalid"
		valid.Status, valid.Reason = "False", "ErrorPresent"
		valid.Message = "At least one error present, see Errors for details"
	}
	out.Description = valid.Message
	for _, e := range valid.Errors {
		if e.Type == orphaned {
			out.CurrentStatus, out.Description = "orphaned", e.Message
		}
	}
	out.Conditions = []DetailedCondition{valid}
	if owned != nil {
		out.Conditions = append(out.Conditions, DetailedCondition{Type: "Accepted", Status: "False", Reason: api.CodeConflicted, Message: cut(owned.Message)})
	}
	return out
}

// finding is a note in the words of the catalogue, and whether it is an error.
func finding(n *api.Note) (sub SubCondition, wrong bool) {
	sub = SubCondition{Status: "True", Message: n.Message}
	if n.Field != "" {
		sub.Message = string(n.Field) + ": " + n.Message
	}
	sub.Message = cut(sub.Message)
	kind, reason, own := strings.Cut(n.Code, "/")
	switch {
	case own:
		sub.Type, sub.Reason, wrong = kind, reason, n.Severity == api.Error
	case n.Code == "BackendNotFound", n.Code == "PortRequired":
		sub.Type, sub.Reason, wrong = serviceError, "ServiceUnresolvedReference", true
	case n.Code == "UnsupportedProtocol":
		sub.Type, sub.Reason, wrong = serviceError, n.Code, true
	case n.Code == "NoEndpoints":
		sub.Type, sub.Reason = serviceError, n.Code
	default:
		sub.Type, sub.Reason, wrong = specError, n.Code, n.Severity == api.Error
	}
	return sub, wrong
}

func cut(text string) string {
	return text[:min(len(text), longestMessage)]
}
