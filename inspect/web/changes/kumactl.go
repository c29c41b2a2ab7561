package changes

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weftmesh/weft/api"
)

// keptTenancy is the document of a Mesh that somebody writes, with the tenancy that there is where
// the writer is Kuma's client: it reads a Mesh, leaves out what it has no word for, and writes it
// back, which would open a mesh without anybody's Asking.
func (c *DocumentWriter) keptTenancy(r *http.Request, ref api.Ref, body []byte) []byte {
	if !strings.HasPrefix(strings.ToLower(r.UserAgent()), "kumactl") {
		return body
	}
	now, _ := c.SnapshotOf(r.Context(), api.KindMesh).Get(ref)
	t := api.TenancyOf(now)
	var fields map[string]json.RawMessage
	if t == nil || json.Unmarshal(body, &fields) != nil || fields == nil || fields["tenancy"] != nil {
		return body
	}
	kept, err := json.Marshal(t)
	if err != nil {
		return body
	}
	fields["tenancy"] = kept
	text, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return text
}
