package web

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
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/store"
)

// problem is an error as clients see it (spec/kuma.md 5.1): RFC 7807 with the
// older names beside it.
type problem struct {
	Type              string             `json:"type"`
	Status            int                `json:"status"`
	Title             string             `json:"title"`
	Detail            string             `json:"detail"`
	InvalidParameters []invalidParameter `json:"invalid_parameters,omitempty"`
	Details           string             `json:"details"`
	Causes            []cause            `json:"causes,omitempty"`
	// Violations are the same with the place in the text, for programs.
	Violations []inspect.Violation `json:"violations,omitempty"`
	allow      string              // the methods that are possible, for a header
	retry      string              // in how many seconds to try again, for a header
}

type invalidParameter struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Source string `json:"source,omitempty"` // where the document came from: file:line:col
	Object string `json:"object,omitempty"`
}

type cause struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error makes a problem the failure of a handler.
func (p problem) Error() string { return p.Detail }

const cannotProcess = "Could not process a resource"

// notValid is the answer to documents that are refused.
func notValid(found []*api.Violation) problem {
	p := problem{Status: http.StatusBadRequest, Title: cannotProcess, Detail: "Resource is not valid"}
	for _, v := range found {
		if v.Severity != api.Error {
			continue
		}
		i := invalidParameter{Field: string(v.Field), Reason: v.Message, Source: v.Position.String()}
		if v.Object.Name != "" {
			i.Object = v.Object.String()
		}
		p.InvalidParameters = append(p.InvalidParameters, i)
		p.Causes = append(p.Causes, cause{string(v.Field), v.Message})
		p.Violations = append(p.Violations, inspect.ViolationOf(v))
	}
	return p
}

// badField is the answer to one wrong parameter.
func badField(field, reason string) problem {
	return problem{Status: http.StatusBadRequest, Title: "Bad request", Detail: reason,
		InvalidParameters: []invalidParameter{{Field: field, Reason: reason}}, Causes: []cause{{field, reason}}}
}

func missing() problem {
	return problem{Status: http.StatusNotFound, Title: "Could not retrieve a resource", Detail: "Not found"}
}

func conflict(detail string) problem {
	return problem{Status: http.StatusConflict, Title: cannotProcess, Detail: detail}
}

// failedPrecondition is the answer to a write that was meant for another state.
func failedPrecondition(detail string) problem {
	return problem{Status: http.StatusPreconditionFailed, Title: cannotProcess, Detail: detail}
}

// badFields is the answer to all that is wrong with a request.
func badFields(wrong []problem) problem {
	if len(wrong) == 1 {
		return wrong[0]
	}
	p := problem{Status: http.StatusBadRequest, Title: "Bad request"}
	var names []string
	for _, w := range wrong[:min(len(wrong), mostMistakes)] {
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

// badFieldsIn are what a handler says to be wrong with fields, nil where err is anything else.
func badFieldsIn(err error) (wrong []problem) {
	var many *multierror.Error
	if !errors.As(err, &many) {
		return nil
	}
	for _, e := range many.Errors {
		var p problem
		if !errors.As(e, &p) {
			return nil
		}
		wrong = append(wrong, p)
	}
	return wrong
}

// problemOf is the answer to any failure of a handler.
func problemOf(err error) problem {
	var p problem
	var tooLarge *http.MaxBytesError
	if wrong := badFieldsIn(err); len(wrong) > 0 {
		return badFields(wrong)
	}
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return problem{Status: http.StatusRequestEntityTooLarge, Title: "Too large", Detail: "the body is too large; send fewer or smaller documents"}
	case errors.Is(err, store.ErrReadOnly):
		return problem{Status: http.StatusMethodNotAllowed, Title: cannotProcess, Detail: err.Error()}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrStopped):
		return problem{Status: http.StatusServiceUnavailable, Title: cannotProcess, Detail: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem{Status: http.StatusServiceUnavailable, Title: "Not in time", Detail: "the answer was not ready in time; try again"}
	case len(api.Violations(err)) > 0:
		return notValid(api.Violations(err))
	}
	return problem{Status: http.StatusInternalServerError, Title: "Internal error", Detail: err.Error()}
}

// fail writes a problem.
func fail(w http.ResponseWriter, p problem) {
	p.Type, p.Details = "/std-errors", p.Detail
	if p.allow != "" {
		w.Header().Set("Allow", p.allow)
	}
	if p.retry != "" {
		w.Header().Set("Retry-After", p.retry)
	}
	answer(w, p.Status, p)
}

// Refusal is an error that Refuse answers with status.
func Refusal(status int, detail string) error {
	return problem{Status: status, Title: http.StatusText(status), Detail: detail}
}

// Refused is what a Refusal says; not ok for another error.
func Refused(err error) (status int, detail string, ok bool) {
	var p problem
	ok = errors.As(err, &p)
	return p.Status, p.Detail, ok
}

// Refuse answers an error in the form of this API, for handlers elsewhere.
func Refuse(w http.ResponseWriter, err error) { fail(w, problemOf(err)) }
