package contour

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// The types of errors, as the status names them (spec/httpproxy.md 7).
const (
	virtualHostError   = "VirtualHostError"
	rootNamespaceError = "RootNamespaceError"
	specError          = "SpecError"
	orphaned           = "Orphaned"
	includeError       = "IncludeError"
	routeError         = "RouteError"
	prefixReplaceError = "PrefixReplaceError"
	serviceError       = "ServiceError"
)

// Reasons that several places give.
const (
	badPath       = "PathMatchConditionsNotValid"
	badHeader     = "HeaderMatchConditionsNotValid"
	badParameter  = "QueryParameterMatchConditionsNotValid"
	unsupported   = "UnsupportedField"
	unprotected   = "UnsupportedSecurityField"
	ignored       = "IgnoredField"
	deprecated    = "DeprecatedField"
	badTimeout    = "TimeoutPolicyNotValid"
	badRate       = "RateLimitPolicyNotValid"
	badRedirect   = "RequestRedirectPolicy"
	notPermitted  = "RootProxyNotAllowedInNamespace"
	duplicateHost = "DuplicateVhost"
)

// code is how a note names an error or a warning: by type and reason.
func code(kind, reason string) string { return kind + "/" + reason }

// fault is a mistake in an object, or a warning.
type fault struct {
	severity      api.Severity
	code, message string
	at            api.Path
}

// report is what is found about one object. One that does not keep counts mistakes
// alone: they are told where the object itself is read.
type report struct {
	of     *api.Object
	see    route.Lister // of the services that it names; nil where nobody looks
	keep   bool
	faults []fault
	broken bool // by a mistake that takes the routes of the object away
}

// errs says what is wrong with a part of the object.
func (r *report) errs(kind, reason string, at api.Path, format string, args ...any) {
	if r.keep {
		r.add(fault{api.Error, code(kind, reason), fmt.Sprintf(format, args...), at})
	}
}

// fails is errs where no route of the object can be served for it.
func (r *report) fails(kind, reason string, at api.Path, format string, args ...any) {
	r.broken = true
	r.errs(kind, reason, at, format, args...)
}

func (r *report) warns(kind, reason string, at api.Path, format string, args ...any) {
	if r.keep {
		r.add(fault{api.Warning, code(kind, reason), fmt.Sprintf(format, args...), at})
	}
}

// add takes faults, each once: several chains of includes may find the same.
func (r *report) add(list ...fault) {
	if !r.keep {
		return
	}
	for _, f := range list {
		if !slices.Contains(r.faults, f) {
			r.faults = append(r.faults, f)
		}
	}
}

// notes are the faults on the object.
func (r *report) notes() []api.Note {
	var out []api.Note
	for _, f := range r.faults {
		out = append(out, api.Note{Origin: &api.Origin{Ref: r.of.Ref, Field: f.at}, Severity: f.severity, Code: f.code, Field: f.at, Message: f.message})
	}
	return out
}
