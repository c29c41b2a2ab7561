// Package toydialect is the smallest route language that uses what the model of
// routes has: it keeps docs/add-a-route-dialect.md true. A ToyRoute serves hosts,
// or is there for others to include under a prefix; of rules for one path the
// first holds; what nothing matches is answered with 404.
//
// It promises that nothing outside this folder knows it: one entry in the list of
// dialects makes it a language like the others. No program has that entry.
package toydialect

import (
	"cmp"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Kind is the type of the documents.
const Kind = "ToyRoute"

// Dialect is the language.
var Dialect = route.Dialect{
	Name: "toy",
	Types: []api.Type{{Name: Kind, Plural: "toyroutes", Short: "toy", Group: "toy.weft.io", Version: "v1", Route: true, Attach: true,
		New: func() api.Spec { return new(Route) }}},
	Read:    read,
	Compose: compose,
	Status:  status,
}

// Route is the spec of a ToyRoute.
type Route struct {
	Hosts    []string  `json:"hosts,omitempty"` // a name, or *. and a name
	Port     uint32    `json:"port,omitempty"`  // default 80
	Rules    []Rule    `json:"rules,omitempty"`
	Includes []Include `json:"includes,omitempty"`
	// Limit holds for each of the hosts as a whole.
	Limit *Limit `json:"limit,omitempty"`
}

// Limit is how many requests there may be in what time.
type Limit struct {
	Requests uint32       `json:"requests"`
	In       api.Duration `json:"in"`
}

// Rule sends the requests below a path to services, or answers them.
type Rule struct {
	Name    string        `json:"name,omitempty"`
	Path    string        `json:"path"`
	To      []Service     `json:"to,omitempty"`
	Answer  *Answer       `json:"answer,omitempty"`
	Timeout *api.Duration `json:"timeout,omitempty"`
	// WebSockets pass, if not said otherwise.
	WebSockets *bool `json:"webSockets,omitempty"`
}

// Service is a backend.
type Service struct {
	Service string            `json:"service"`
	Port    uint32            `json:"port"`
	Weight  uint32            `json:"weight,omitempty"` // default 1
	Set     map[string]string `json:"set,omitempty"`    // request headers
}

// Answer is an answer of the proxy's own.
type Answer struct {
	Status uint32 `json:"status"`
	Body   string `json:"body,omitempty"`
}

// Include takes the rules of another ToyRoute of the mesh under a prefix.
type Include struct {
	Name   string `json:"name"`
	Prefix string `json:"prefix"`
}

// Validate wants what the translation takes for granted.
func (r *Route) Validate(at api.Path) error {
	var errs *multierror.Error
	for i := range r.Rules {
		rule, here := &r.Rules[i], at.Field("rules").Index(i)
		if _, err := matchBelow("", rule.Path); err != nil {
			errs = multierror.Append(errs, here.Field("path").Breaks("%v; write a path", err))
		}
		if (rule.Answer == nil) == (len(rule.To) == 0) {
			errs = multierror.Append(errs, here.Breaks("the rule does nothing, or two things; write to or answer"))
		}
	}
	if l := r.Limit; l != nil && (l.Requests == 0 || l.In < api.Duration(time.Second)) {
		errs = multierror.Append(errs, at.Field("limit").Breaks("it admits nothing, or in no time; write 1 or more, in 1s or more"))
	}
	for i := range r.Includes {
		if _, err := matchBelow("", r.Includes[i].Prefix); err != nil {
			errs = multierror.Append(errs, at.Field("includes").Index(i).Field("prefix").Breaks("%v; write a path", err))
		}
	}
	return errs.ErrorOrNil()
}

// matchBelow takes what is below path, which stands under a prefix.
func matchBelow(prefix, path string) (match.Match, error) {
	c, err := match.Compare(match.OnPath, "", match.SegmentPrefix, 0, cmp.Or(prefix+path, "/"))
	return match.Match{Conditions: match.Conditions{c}}, err
}

// own is the status in the language's own form.
type own struct {
	State    string   `json:"state"` // serving, waiting or broken
	Problems []string `json:"problems,omitempty"`
}

func status(f route.Findings) any {
	s := own{State: "waiting"}
	for _, v := range f.Verdicts {
		switch {
		case v.Status != "False" && v.Type == "Programmed":
			s.State = "serving"
		case v.Status == "False" && v.Type != "Programmed":
			s.State = "broken"
		}
	}
	for _, n := range f.Notes {
		s.Problems = append(s.Problems, n.Code)
	}
	return s
}
