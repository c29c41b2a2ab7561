package questions

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// simulate answers what would happen to the request that is sent.
func (h *Handlers) simulate(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := h.ReaderAt(r, api.KindDataplane)
	if err != nil {
		return err
	}
	var q wire.Request
	if err := httpapi.Read(w, r, &q); err != nil {
		return unreadable(err, q)
	}
	if _, err := inspect.Dataplane(m, ref); err != nil {
		return httpapi.Unknown(err)
	}
	verdict, err := sim.Run(m, ref, q)
	if err != nil {
		return cannotSimulate(err)
	}
	verdict.Notes = append(verdict.Notes, m.Unserved(ref.Mesh, verdict.Host())...)
	httpapi.Answer(w, http.StatusOK, verdict)
	return nil
}

// unreadable is what cannot be read of a request, with what is wrong with the rest of it.
func unreadable(err error, q wire.Request) error {
	wrong := httpapi.BadFieldsIn(err)
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
		return httpapi.BadFields(wrong)
	}
	for _, c := range cannotSimulate(rest).Causes {
		if head, _, _ := strings.Cut(c.Field, "."); !told[head] {
			wrong = append(wrong, httpapi.BadField(c.Field, c.Message))
		}
	}
	return httpapi.BadFields(wrong)
}

// cannotSimulate is the answer to a request that cannot be simulated: all that is wrong with
// its fields.
func cannotSimulate(err error) httpapi.ProblemDetails {
	many, ok := errors.AsType[*multierror.Error](err)
	if !ok {
		return wrongField(err)
	}
	wrong := make([]httpapi.ProblemDetails, len(many.Errors))
	for i, e := range many.Errors {
		wrong[i] = wrongField(e)
	}
	return httpapi.BadFields(wrong)
}

// wrongField is what is wrong with one field of a simulation. The error begins with it, or
// else the url leads nowhere.
func wrongField(err error) httpapi.ProblemDetails {
	field, reason, ok := strings.Cut(err.Error(), ": ")
	if ok && (slices.Contains([]string{"url", "headers", "answers", "version", "body", "draw", "authz", "sni", "as", "plaintext"}, field) || strings.HasPrefix(field, "headers.")) {
		return httpapi.BadField(field, reason)
	}
	return httpapi.BadField("url", err.Error())
}
