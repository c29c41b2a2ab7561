package route

import (
	"slices"
	"strings"
)

// Filled is a header whose value is put together for each request. Where nothing comes
// out of it the header stays as it was.
type Filled struct {
	Name  string // in lower case
	Parts []Part
	Add   bool `json:",omitempty"` // as one more line, and not in the place of all
}

// Part is a part of a value: exactly one field is set.
type Part struct {
	Text string `json:"text,omitempty"`
	// Header is a header of the request, in lower case: its first line. A change of a
	// request has it as it came, but for what the same rule removes; a change of an
	// answer has it as it went on.
	Header string `json:"header,omitempty"`
	// Answer is a header of the answer, in lower case, as whoever answers gave it: its
	// first line. A change of a request has none.
	Answer string `json:"answer,omitempty"`
	Fact   Fact   `json:"fact,omitempty"`
}

// Fact is something else that a proxy knows of a request, by the name of Envoy's operator.
type Fact string

// OfProtocol is the version of HTTP in which a request came.
const OfProtocol Fact = "PROTOCOL"

// OfPath is the path of a request without its query, and OfMethod its method: for a change
// of a request as it came, of an answer as it went on.
const (
	OfPath   Fact = "PATH(NQ:PATH)"
	OfMethod Fact = "REQ(:METHOD)"
)

// Facts are those that Contour lets through, without those of REQ.
var Facts = []Fact{
	"DOWNSTREAM_LOCAL_ADDRESS", "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_LOCAL_PORT", "DOWNSTREAM_LOCAL_SUBJECT", "DOWNSTREAM_LOCAL_URI_SAN",
	"DOWNSTREAM_PEER_CERT", "DOWNSTREAM_PEER_CERT_V_END", "DOWNSTREAM_PEER_CERT_V_START", "DOWNSTREAM_PEER_FINGERPRINT_1", "DOWNSTREAM_PEER_FINGERPRINT_256",
	"DOWNSTREAM_PEER_ISSUER", "DOWNSTREAM_PEER_SERIAL", "DOWNSTREAM_PEER_SUBJECT", "DOWNSTREAM_PEER_URI_SAN",
	"DOWNSTREAM_REMOTE_ADDRESS", "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_TLS_CIPHER", "DOWNSTREAM_TLS_SESSION_ID", "DOWNSTREAM_TLS_VERSION",
	"HOSTNAME", OfProtocol, "RESPONSE_CODE_DETAILS", "RESPONSE_FLAGS", "UPSTREAM_REMOTE_ADDRESS",
}

// OfAnswer reports whether nobody knows the fact before there is an answer.
func (f Fact) OfAnswer() bool {
	return slices.Contains([]Fact{"RESPONSE_CODE_DETAILS", "RESPONSE_FLAGS", "UPSTREAM_REMOTE_ADDRESS"}, f)
}

// Operator is p in the notation of HTTPProxy and of Envoy; empty for a text.
func (p Part) Operator() string {
	switch {
	case p.Header != "":
		return "%REQ(" + p.Header + ")%"
	case p.Answer != "":
		return "%RESP(" + p.Answer + ")%"
	case p.Fact != "":
		return "%" + string(p.Fact) + "%"
	}
	return ""
}

// Value joins the parts, each as of renders it.
func (f *Filled) Value(of func(Part) string) string {
	var b strings.Builder
	for _, p := range f.Parts {
		b.WriteString(of(p))
	}
	return b.String()
}

// String is the value with operators in their notation.
func (f *Filled) String() string {
	return f.Value(func(p Part) string { return p.Text + p.Operator() })
}

// Fills reports whether a filter among filters fills headers of requests or of answers.
func Fills(filters []Filter) (requests, answers bool) {
	for i := range filters {
		requests = requests || filters[i].RequestHeaders != nil && len(filters[i].RequestHeaders.Fill) > 0
		answers = answers || filters[i].ResponseHeaders != nil && len(filters[i].ResponseHeaders.Fill) > 0
	}
	return requests, answers
}
