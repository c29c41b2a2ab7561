package web

import (
	"context"
	"net/http"
	"time"
)

// refusedRoute stands for the route of a request that is answered before one is looked for,
// guiRoute for those of all pages.
const (
	refusedRoute = "refused"
	guiRoute     = "GET /gui/"
)

type routeKey struct{}

// watched tells how each request is answered.
func (s *server) watched(next http.Handler) http.Handler {
	if s.Answered == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, route := time.Now(), refusedRoute
		out := &noting{ResponseWriter: w}
		defer func() { s.Answered(route, out.code(), time.Since(started)) }()
		next.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), routeKey{}, &route)))
	})
}

// at is a handler that is told of under its route, within a span of its own.
func (s *server) at(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at, ok := r.Context().Value(routeKey{}).(*string); ok {
			*at = route
		}
		if s.Traced == nil || untraced[route] {
			next.ServeHTTP(w, r)
			return
		}
		ctx, end := s.Traced(r, route)
		out := &noting{ResponseWriter: w}
		defer func() { end(out.code()) }()
		next.ServeHTTP(out, r.WithContext(ctx))
	})
}

// untraced are routes that programs ask all the time, and the stream that has no end.
var untraced = map[string]bool{"GET /healthz": true, "GET /readyz": true, "GET /metrics": true, "GET /metrics/traffic": true, "GET /_events": true, guiRoute: true}

// noting notes the status of an answer.
type noting struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes it.
func (n *noting) WriteHeader(status int) {
	if n.status == 0 && status >= http.StatusOK { // what comes before is no answer
		n.status = status
	}
	n.ResponseWriter.WriteHeader(status)
}

// Write is an answer of 200 where nothing else was said.
func (n *noting) Write(text []byte) (int, error) {
	if n.status == 0 {
		n.status = http.StatusOK
	}
	return n.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// code is the status; that of a bug where the handler has answered nothing.
func (n *noting) code() int {
	if n.status == 0 {
		return http.StatusInternalServerError
	}
	return n.status
}
