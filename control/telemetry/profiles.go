package telemetry

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// Profiles serves Go's profiles under /debug/pprof/ to programs on this host. A page in a
// browser here is none of them: it asks under another name than the host's own, or says
// where it comes from.
func Profiles() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host) || r.Header.Get("Origin") != "" {
			http.Error(w, "profiles are for programs on this host, by its loopback address", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
	// A profile takes as long as it is asked to: ten minutes at most.
	return &http.Server{Handler: guarded, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Minute, MaxHeaderBytes: 8 << 10}
}

// local reports whether a Host header is a name or address of loopback.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
