package sidecars

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/sidecar/attach"
)

// CannotAsk is the answer where the agent of a sidecar, or its Envoy, has none: 503 where it has no
// stream, 504 where it is late, 502 for all else.
func CannotAsk(err error) httpapi.ProblemDetails {
	p := httpapi.ProblemDetails{Status: http.StatusBadGateway, Title: "Cannot ask the sidecar", Detail: err.Error()}
	switch {
	case errors.Is(err, attach.ErrNoStream):
		p.Status = http.StatusServiceUnavailable
	case errors.Is(err, attach.ErrLate), errors.Is(err, context.DeadlineExceeded):
		p.Status = http.StatusGatewayTimeout
	}
	return p
}
