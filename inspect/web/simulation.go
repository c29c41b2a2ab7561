package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sim"
)

// simulate answers what would happen to the request that is sent.
func (s *server) simulate(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := s.asked(r, api.KindDataplane)
	if err != nil {
		return err
	}
	var q sim.Request
	if err := read(w, r, &q); err != nil {
		return unreadable(err, q)
	}
	if _, err := inspect.Dataplane(m, ref); err != nil {
		return unknown(err)
	}
	verdict, err := sim.Run(m, ref, q)
	if err != nil {
		return cannotSimulate(err)
	}
	verdict.Notes = append(verdict.Notes, m.Unserved(ref.Mesh, verdict.Host())...)
	answer(w, http.StatusOK, verdict)
	return nil
}

// unreadable is what cannot be read of a request, with what is wrong with the rest of it.
func unreadable(err error, q sim.Request) error {
	wrong := badFieldsIn(err)
	if len(wrong) == 0 {
		return err
	}
	told := map[string]bool{}
	for _, p := range wrong {
		for _, c := range p.Causes {
			head, _, _ := strings.Cut(c.Field, ".")
			told[head] = true
		}
	}
	rest := sim.Check(q)
	if rest == nil {
		return badFields(wrong)
	}
	for _, c := range cannotSimulate(rest).Causes {
		if head, _, _ := strings.Cut(c.Field, "."); !told[head] {
			wrong = append(wrong, badField(c.Field, c.Message))
		}
	}
	return badFields(wrong)
}

// cannotSimulate is the answer to a request that cannot be simulated: all that is wrong with
// its fields.
func cannotSimulate(err error) problem {
	many, ok := errors.AsType[*multierror.Error](err)
	if !ok {
		return wrongField(err)
	}
	wrong := make([]problem, len(many.Errors))
	for i, e := range many.Errors {
		wrong[i] = wrongField(e)
	}
	return badFields(wrong)
}

// wrongField is what is wrong with one field of a simulation. The error begins with it, or
// else the url leads nowhere.
func wrongField(err error) problem {
	field, reason, ok := strings.Cut(err.Error(), ": ")
	if ok && (slices.Contains([]string{"url", "headers", "answers", "version", "body", "draw", "authz", "sni", "as", "plaintext"}, field) || strings.HasPrefix(field, "headers.")) {
		return badField(field, reason)
	}
	return badField("url", err.Error())
}
