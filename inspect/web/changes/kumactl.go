package changes

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weftmesh/weft/api"
)

// kept is the document of a Mesh that somebody writes, with the tenancy and the telemetry that there
// are where the writer is Kuma's client: it reads a Mesh, leaves out what it has no word for, and writes it
// back, which would open a mesh, or show paths of requests, without anybody's asking.
func (c *DocumentWriter) kept(r *http.Request, ref api.Ref, body []byte) []byte {
	if !strings.HasPrefix(strings.ToLower(r.UserAgent()), "kumactl") {
		return body
	}
	now, _ := c.SnapshotOf(r.Context(), api.KindMesh).Get(ref)
	ours := map[string]any{}
	if t := api.TenancyOf(now); t != nil {
		ours["tenancy"] = t
	}
	if t := api.TelemetryOf(now); t != nil {
		ours["telemetry"] = t
	}
	var fields map[string]json.RawMessage
	if len(ours) == 0 || json.Unmarshal(body, &fields) != nil || fields == nil {
		return body
	}
	for name, value := range ours {
		if fields[name] != nil {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return body
		}
		fields[name] = text
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return text
}
