// Package httpapi is what every HTTP handler of weft needs: answers and refusals in one form,
// bodies that are bounded and read strictly, preconditions, and pages of lists.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/store"
)

// ProblemDetails is an error as clients see it (spec/kuma.md 5.1): RFC 7807 with the
// older names beside it.
type ProblemDetails struct {
	Type              string             `json:"type"`
	Status            int                `json:"status"`
	Title             string             `json:"title"`
	Detail            string             `json:"detail"`
	InvalidParameters []InvalidParameter `json:"invalid_parameters,omitempty"`
	Details           string             `json:"details"`
	Causes            []Cause            `json:"causes,omitempty"`
	// Violations are the same with the place in the text, for programs.
	Violations []inspect.Violation `json:"violations,omitempty"`
	Allow      string              `json:"-"` // the methods that are possible, for a header
	Retry      string              `json:"-"` // in how many seconds to try again, for a header
}

// InvalidParameter is one mistake of a request, in Kuma's form.
type InvalidParameter struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Source string `json:"source,omitempty"` // where the document came from: file:line:col
	Object string `json:"object,omitempty"`
}

// Cause is one mistake in the form that Kuma had before.
type Cause struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// MostMistakes is how many mistakes one answer tells of.
const MostMistakes = 1000

// Error makes a problem the failure of a handler.
func (p ProblemDetails) Error() string { return p.Detail }

// CannotProcess is the title of a problem with what a request brings.
const CannotProcess = "Could not process a resource"

// NotValid is the answer to documents that are refused. It tells of MostMistakes, and how many
// more there are.
func NotValid(found []*api.Violation) ProblemDetails {
	p := ProblemDetails{Status: http.StatusBadRequest, Title: CannotProcess, Detail: "Resource is not valid"}
	more := 0
	var cut *api.Violation // which says of itself how many more there are
	for _, v := range found {
		switch {
		case v.Severity != api.Error:
		case len(p.Causes) < MostMistakes:
			p.tell(v)
		case v.Code == "Cut":
			cut = v
		default:
			more++
		}
	}
	if cut != nil {
		p.tell(cut)
	}
	if more > 0 {
		p.tell(&api.Violation{Code: "Cut", Severity: api.Error, Message: fmt.Sprintf("there are %d more mistakes; correct those above first", more)})
	}
	return p
}

// tell adds a violation.
func (p *ProblemDetails) tell(v *api.Violation) {
	i := InvalidParameter{Field: string(v.Field), Reason: v.Message, Source: v.Position.String()}
	if v.Object.Name != "" {
		i.Object = v.Object.String()
	}
	p.InvalidParameters = append(p.InvalidParameters, i)
	p.Causes = append(p.Causes, Cause{string(v.Field), v.Message})
	p.Violations = append(p.Violations, inspect.ViolationOf(v))
}

// BadField is the answer to one wrong parameter.
func BadField(field, reason string) ProblemDetails {
	return ProblemDetails{Status: http.StatusBadRequest, Title: "Bad request", Detail: reason,
		InvalidParameters: []InvalidParameter{{Field: field, Reason: reason}}, Causes: []Cause{{field, reason}}}
}

// NotFound is the answer to a path that names nothing.
func NotFound() ProblemDetails {
	return ProblemDetails{Status: http.StatusNotFound, Title: "Could not retrieve a resource", Detail: "Not found"}
}

// Conflict is the answer to a change that something stands against.
func Conflict(detail string) ProblemDetails {
	return ProblemDetails{Status: http.StatusConflict, Title: CannotProcess, Detail: detail}
}

// FailedPrecondition is the answer to a write that was meant for another state.
func FailedPrecondition(detail string) ProblemDetails {
	return ProblemDetails{Status: http.StatusPreconditionFailed, Title: CannotProcess, Detail: detail}
}

// BadFields is the answer to all that is wrong with a request.
func BadFields(wrong []ProblemDetails) ProblemDetails {
	if len(wrong) == 1 {
		return wrong[0]
	}
	p := ProblemDetails{Status: http.StatusBadRequest, Title: "Bad request"}
	var names []string
	for _, w := range wrong[:min(len(wrong), MostMistakes)] {
		p.InvalidParameters, p.Causes = append(p.InvalidParameters, w.InvalidParameters...), append(p.Causes, w.Causes...)
		for _, c := range w.Causes {
			if !slices.Contains(names, c.Field) {
				names = append(names, c.Field)
			}
		}
	}
	p.Detail = fmt.Sprintf("%d mistakes; correct %s", len(wrong), strings.Join(names, ", "))
	return p
}

// BadFieldsIn are what a handler says to be wrong with fields, nil where err is anything else.
func BadFieldsIn(err error) (wrong []ProblemDetails) {
	var many *multierror.Error
	if !errors.As(err, &many) {
		return nil
	}
	for _, e := range many.Errors {
		var p ProblemDetails
		if !errors.As(e, &p) {
			return nil
		}
		wrong = append(wrong, p)
	}
	return wrong
}

// ProblemOf is the answer to any failure of a handler.
func ProblemOf(err error) ProblemDetails {
	var p ProblemDetails
	var tooLarge *http.MaxBytesError
	if wrong := BadFieldsIn(err); len(wrong) > 0 {
		return BadFields(wrong)
	}
	switch refused := admission.RefusalIn(err); {
	case errors.As(err, &p):
		return p
	case refused != nil && refused.Conflict:
		return Conflict(refused.Reasons())
	case refused != nil:
		return NotValid(refused.Found)
	case errors.As(err, &tooLarge):
		return ProblemDetails{Status: http.StatusRequestEntityTooLarge, Title: "Too large", Detail: "the body is too large; send fewer or smaller documents"}
	case errors.Is(err, store.ErrReadOnly):
		return ProblemDetails{Status: http.StatusMethodNotAllowed, Title: CannotProcess, Detail: err.Error()}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrStopped):
		return ProblemDetails{Status: http.StatusServiceUnavailable, Title: CannotProcess, Detail: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ProblemDetails{Status: http.StatusServiceUnavailable, Title: "Not in time", Detail: "the answer was not ready in time; try again"}
	case len(api.Violations(err)) > 0:
		return NotValid(api.Violations(err))
	}
	return ProblemDetails{Status: http.StatusInternalServerError, Title: "Internal error", Detail: err.Error()}
}

// Fail writes a problem.
func Fail(w http.ResponseWriter, p ProblemDetails) {
	p.Type, p.Details = "/std-errors", p.Detail
	if p.Allow != "" {
		w.Header().Set("Allow", p.Allow)
	}
	if p.Retry != "" {
		w.Header().Set("Retry-After", p.Retry)
	}
	Answer(w, p.Status, p)
}

// Refusal is an error that Refuse answers with status.
func Refusal(status int, detail string) error {
	return ProblemDetails{Status: status, Title: http.StatusText(status), Detail: detail}
}

// Refused is what a Refusal says; not ok for another error.
func Refused(err error) (status int, detail string, ok bool) {
	var p ProblemDetails
	ok = errors.As(err, &p)
	return p.Status, p.Detail, ok
}

// Refuse answers an error in the form of this API, for handlers elsewhere.
func Refuse(w http.ResponseWriter, err error) { Fail(w, ProblemOf(err)) }

// Truncate is as much of a client's text as a line of the log takes.
func Truncate(text string) string {
	const most = 256
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}

// Unknown makes what package inspect does not find a 404 in its words.
func Unknown(err error) error {
	if errors.Is(err, inspect.ErrNotFound) {
		return ProblemDetails{Status: http.StatusNotFound, Title: "Could not retrieve a resource", Detail: err.Error()}
	}
	return err
}

// TooMany is the answer to who has too many of what others need too.
func TooMany(of string) ProblemDetails {
	return ProblemDetails{Status: http.StatusTooManyRequests, Title: "Too much at once", Retry: "1",
		Detail: "you have too many " + of + "; close some of them and try again"}
}
