package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// written is an object as its writer gave it, without what readers are told
// beside it: an administrator who stores it again changes nothing. Others do
// not learn its secrets.
func (s *server) written(r *http.Request, o *api.Object) ([]byte, error) {
	if !administers(r) {
		o = o.Redacted()
	}
	c := *o
	c.Created, c.Modified = time.Time{}, time.Time{}
	return decode.PrintJSON(s.Catalog, &c)
}

// item is an object as the API shows it, with conditions in its status.
func (s *server) item(o *api.Object, conditions any) ([]byte, error) {
	text, err := decode.PrintJSON(s.Catalog, s.Catalog.Shown(o.Redacted()))
	if err != nil || conditions == nil {
		return text, err
	}
	return withConditions(text, conditions)
}

// withConditions adds conditions to the status of a printed object.
func withConditions(text []byte, conditions any) ([]byte, error) {
	list, err := json.Marshal(conditions)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	status := map[string]json.RawMessage{}
	if had, ok := fields["status"]; ok {
		if err := json.Unmarshal(had, &status); err != nil {
			return nil, err
		}
		text = bytes.TrimSuffix(text, slices.Concat([]byte(`,"status":`), had, []byte("}")))
		text = append(slices.Clip(text), '}')
	}
	status["conditions"] = list
	whole, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return slices.Concat(text[:len(text)-1], []byte(`,"status":`), whole, []byte("}")), nil
}
