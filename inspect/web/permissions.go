package web

import (
	"net/http"

	"github.com/weftmesh/weft/inspect"
)

// permissions answers who may call what: of one dataplane by from, at one service by to.
func (s *server) permissions(w http.ResponseWriter, r *http.Request) error {
	q, err := s.reader(r.Context())
	if err != nil {
		return err
	}
	query := r.URL.Query()
	out, err := inspect.PermissionsOf(q, r.PathValue("mesh"), query.Get("from"), query.Get("to"))
	if err != nil {
		return unknown(err)
	}
	answer(w, http.StatusOK, out)
	return nil
}
