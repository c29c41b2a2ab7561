package api

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// ParseEdgeListeners reads the annotation weft.io/edge-listeners, PORT/PROTOCOL with commas
// in between (spec/kubernetes.md 2.10): 80/http, and 8443/tls or 8443/https where clients
// speak TLS. What it cannot read it leaves out and says; the error has all of that.
func ParseEdgeListeners(text string) ([]EdgeListener, error) {
	var out []EdgeListener
	var errs *multierror.Error
	seen := map[uint32]bool{}
	for _, w := range strings.Split(text, ",") {
		if w = strings.TrimSpace(w); w == "" {
			continue
		}
		port, protocol, _ := strings.Cut(w, "/")
		n, err := strconv.ParseUint(port, 10, 16)
		l := EdgeListener{Port: uint32(n), Protocol: "http"}
		switch protocol {
		case "http":
		case "https", "tls":
			l.Protocol = "https"
		default:
			errs = multierror.Append(errs, fmt.Errorf("%q says no protocol that an edge speaks; write PORT/http, or PORT/tls", redact.Clip(w)))
			continue
		}
		switch {
		case err != nil || n == 0:
			errs = multierror.Append(errs, fmt.Errorf("%q has no port; write PORT/PROTOCOL with commas in between, such as 80/http,8443/tls", redact.Clip(w)))
		case seen[l.Port]:
			errs = multierror.Append(errs, fmt.Errorf("port %d is there twice; write it once", n))
		default:
			seen[l.Port] = true
			out = append(out, l)
		}
	}
	return out, errs.ErrorOrNil()
}
