package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// open are the paths that need no token: whether the process lives and works,
// and who answers.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/": true}

// authorised lets only those in who have the admin token or a token that was
// issued to a user, if tokens are needed at all.
func (s *server) authorised(next http.Handler) http.Handler {
	as := func(w http.ResponseWriter, r *http.Request, u rights.User) {
		switch {
		case s.Admin != "" && open[r.URL.Path]: // nobody has proven anything
		case s.ProvenBy != nil && u.Bounded():
			if !s.ProvenBy(r.Context(), u.Name) {
				w.Header().Set("Connection", "close")
				httpapi.Fail(w, httpapi.TooMany("connections"))
				return
			}
		case s.Proven != nil:
			s.Proven(r.Context())
		}
		s.admitted(w, u.From(r), u, next)
	}
	want := sha256.Sum256([]byte(s.Admin)) // of equal length, so that time tells nothing
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Admin == "" || open[r.URL.Path] {
			as(w, r, rights.Anybody())
			return
		}
		given := bearer(r)
		got := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			as(w, r, rights.Administrator())
			return
		}
		if s.Users != nil {
			s.member(w, r, given, as)
			return
		}
		name, groups, err := s.Tokens.WhoIs(given)
		u := rights.UserOf(name, groups)
		switch {
		case given == "" || err != nil:
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.deny(w, r, http.StatusUnauthorized, "",
				"the request carries no valid token; send the content of the file admin-token in the data directory as Authorization: Bearer")
		case u.OnlyAsks() && !asks(r):
			s.deny(w, r, http.StatusForbidden, name, rights.MayOnlyAsk(name))
		default:
			as(w, r, u)
		}
	})
}

// member lets in whom the cluster knows; what they may, permitted decides.
func (s *server) member(w http.ResponseWriter, r *http.Request, token string, as func(http.ResponseWriter, *http.Request, rights.User)) {
	m, err := s.Users.WhoIs(r.Context(), token)
	switch {
	case errors.Is(err, rights.ErrNobody):
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.deny(w, r, http.StatusUnauthorized, "", err.Error())
	case err != nil:
		s.deny(w, r, http.StatusServiceUnavailable, "", err.Error())
	default:
		as(w, r, m.User())
	}
}

// deny refuses who sent a request, and logs it: address, what was asked, and
// the user where the token names one. A query is left out, it may hold anything.
func (s *server) deny(w http.ResponseWriter, r *http.Request, status int, user, why string) {
	s.Log.Warn("refused a request", "address", r.RemoteAddr, "method", httpapi.Truncate(r.Method), "path", httpapi.Truncate(r.URL.Path), "user", httpapi.Truncate(user), "status", status, "error", httpapi.Truncate(why))
	httpapi.Fail(w, httpapi.ProblemDetails{Status: status, Title: "Not allowed", Detail: why})
}

// asks reports whether a request changes nothing: it reads, simulates, or plans with
// dryRun=true what it would write.
func asks(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		if strings.HasSuffix(r.URL.Path, "/_simulate") {
			return true
		}
		if r.URL.Path != "/_apply" && r.URL.Path != "/_rollback" {
			return false
		}
	case http.MethodDelete:
	default:
		return false
	}
	dry, err := endpoint.Flag(r.URL.Query(), "dryRun")
	return dry && err == nil
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// sameSite refuses requests that a foreign web page makes a browser send: those
// with another Host, by rebinding a name, and those with a foreign Origin.
func (s *server) sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !s.isOwnHost(r.Host):
			s.deny(w, r, http.StatusForbidden, "", "the request is for another host; use the address that the server listens on")
		case origin != "" && !s.sameOrigin(origin, r.Host):
			s.deny(w, r, http.StatusForbidden, "", "the request comes from a page of another origin")
		default:
			w.Header().Set("X-Content-Type-Options", "nosniff")
			next.ServeHTTP(w, r)
		}
	})
}

// isOwnHost reports whether a Host header names this server.
func (s *server) isOwnHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return true
	}
	return s.Hosts == nil || slices.Contains(s.Hosts, host)
}

// sameOrigin reports whether an Origin header is that of our own pages.
func (s *server) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host == host
}

// recovered turns a panic of a handler into a 500: one bad request must not
// take the others down.
func (s *server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.Log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				httpapi.Fail(w, httpapi.ProblemDetails{Status: http.StatusInternalServerError, Title: "Internal error", Detail: "a bug in weft; the log of the control plane has the details"})
			}
		}()
		next.ServeHTTP(w, r)
	})
}
