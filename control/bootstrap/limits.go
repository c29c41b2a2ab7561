package bootstrap

import (
	"net"
	"net/http"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// How large a request may be, and how much of those that are not answered yet is held, of all
// and of one address: nobody knows who sends them before they are read.
const (
	largestBootstrap = 2 << 20
	mostBootstraps   = 64 << 20
	mostOfAddress    = 16 << 20
)

// Bounded keeps what is held of requests in bounds.
func Bounded(b http.Handler) http.Handler {
	held := httpapi.NewIntake(mostBootstraps, mostOfAddress)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		held.Serve(host, w, r, b)
	})
}
