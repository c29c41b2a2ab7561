// Package endpoint is one entry of the table of the HTTP API: a pattern, a handler, and the parameters
// and bodies that are checked before the handler and described in OpenAPI.
package endpoint

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Handler answers a request with a value for JSON, or a raw body, or an error.
type Handler func(http.ResponseWriter, *http.Request) error

// Operation is one path of the API and what GET /_openapi.json says of it.
type Operation struct {
	Pattern string // of http.ServeMux, method first
	handle  Handler
	About   string
	Form    Form
}

// New is an endpoint at a pattern of http.ServeMux, method first.
func New(pattern string, handle Handler, about string, f Form) Operation {
	return Operation{pattern, handle, about, f}
}

// Flag reads a parameter that is true or false, false where it is not given.
func Flag(q url.Values, name string) (bool, error) {
	if !q.Has(name) {
		return false, nil
	}
	v, err := strconv.ParseBool(q.Get(name))
	if err != nil {
		return false, httpapi.BadField(name, strconv.Quote(q.Get(name))+" is neither true nor false; write one of them")
	}
	return v, nil
}
