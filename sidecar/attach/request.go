package attach

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// SeenRequest is what a sidecar saw of one request, as its agent tells it. It has what
// docs/traffic.md lists and nothing else: no query, no body, no header but those that name the request.
type SeenRequest struct {
	// Number is that of the line among all that this agent took: later lines have larger ones.
	Number uint64 `json:"number"`
	// ID is x-request-id, which both sides of a call see; the client may have chosen it.
	ID         string    `json:"id,omitempty"`
	Began      time.Time `json:"began"`
	TookMicros int64     `json:"tookMicros"`
	Method     string    `json:"method"`
	Authority  string    `json:"authority"`
	Path       string    `json:"path,omitempty"` // without the query; empty where it is not asked for
	Protocol   string    `json:"protocol,omitempty"`
	UserAgent  string    `json:"userAgent,omitempty"` // its first word
	Status     uint32    `json:"status"`              // 0: there was no answer
	Flags      string    `json:"flags,omitempty"`     // as Envoy writes them: UO, or URX,UT
	Details    string    `json:"details,omitempty"`   // as response_timeout, without what is told of one connection
	Tries      uint32    `json:"tries"`               // how often it was forwarded
	Host       string    `json:"host,omitempty"`      // address to which it was forwarded last
	Caller     string    `json:"caller,omitempty"`    // first name of the certificate of who called
	Client     string    `json:"client,omitempty"`    // network of who called without one
	Table      string    `json:"table,omitempty"`     // virtual host that took it
	Slot       int       `json:"slot"`                // of the route in it; -1: none
	By         string    `json:"by,omitempty"`        // JSON: whose values stand in the route
	StandsFor  float64   `json:"standsFor"`           // requests, of which this line is a sample
	Received   uint64    `json:"received"`            // bytes of its body
	Sent       uint64    `json:"sent"`                // bytes of the body of its answer
	// Headers are those of the request that a tap asked for, and AnswerHeaders those of its answer, by their names
	// in lower case.
	Headers       map[string]string `json:"headers,omitempty"`
	AnswerHeaders map[string]string `json:"answerHeaders,omitempty"`
	// Attempts are those of its attempts that failed, as far as they are kept.
	Attempts []SeenAttempt `json:"attempts,omitempty"`
}

// SeenAttempt is what a sidecar saw of one attempt of a request.
type SeenAttempt struct {
	TookMicros int64  `json:"tookMicros"`
	Host       string `json:"host,omitempty"`
	Status     uint32 `json:"status"`
	Flags      string `json:"flags,omitempty"`
	Details    string `json:"details,omitempty"`
}

// SeenRequests answer a RequestsQuestion, the earliest first.
type SeenRequests struct {
	Requests []SeenRequest `json:"requests"`
	// Dropped are requests that were asked for and not kept, since there were too many at once.
	Dropped uint64 `json:"dropped"`
	// Lost are lines that Envoy wrote and that never came, since a tap began; told at its end.
	Lost uint64 `json:"lost,omitempty"`
	// Next is the Since of the next question.
	Next uint64 `json:"next"`
	// Kept is since when lines are kept.
	Kept time.Time `json:"kept"`
}

// RequestsQuestion asks an agent for requests that its sidecar saw: for those that failed and that it
// keeps, or with a Tap for all, from now on.
type RequestsQuestion struct {
	// Tap names a tap; the first question with a name begins it. It ends where no question came for TapLease,
	// or with one that says so. Empty: failed requests that are kept.
	Tap string
	End bool
	// Since is the Next of the answer before; 0 for all.
	Since uint64
	// Paths wants paths; a tap has them always.
	Paths bool
	// Tables are those whose requests are wanted; none for all.
	Tables []string
	// Status is a number, as 503, a class, as 5xx, or failed; empty for all.
	Status string
	// ID is that of the request; empty for all.
	ID string
	// Route is one whose values stand in what took the request: NAME, or KIND/NAME; empty for all.
	Route string
	// Headers are names of headers that a tap wants, as HeaderNames has them.
	Headers []string
}

// Bounds of taps and of questions for requests.
const (
	TapLease     = 15 * time.Second
	MostTaps     = 4   // of one sidecar
	TapPerSecond = 200 // lines of one tap
	mostTables   = 64
	longestText  = 256
	requestsPath = "requests"
)

// String is the question as a path.
func (q RequestsQuestion) String() string {
	v := url.Values{}
	for _, p := range []struct{ key, text string }{{"tap", q.Tap}, {"status", q.Status}, {"id", q.ID}, {"route", q.Route}} {
		if p.text != "" {
			v.Set(p.key, p.text)
		}
	}
	if q.Since > 0 {
		v.Set("since", strconv.FormatUint(q.Since, 10))
	}
	if q.End {
		v.Set("end", "1")
	}
	if q.Paths {
		v.Set("paths", "1")
	}
	if len(q.Tables) > 0 {
		v["table"] = q.Tables
	}
	if len(q.Headers) > 0 {
		v["header"] = q.Headers
	}
	return requestsPath + "?" + v.Encode()
}

// ParseRequestsQuestion reads a path that String wrote; false for all else.
func ParseRequestsQuestion(path string) (q RequestsQuestion, ok bool) {
	query, is := strings.CutPrefix(path, requestsPath+"?")
	if !is {
		return q, false
	}
	v, err := url.ParseQuery(query)
	if err != nil {
		return q, false
	}
	q = RequestsQuestion{Tap: v.Get("tap"), End: v.Has("end"), Paths: v.Has("paths"), Tables: v["table"], Status: v.Get("status"), ID: v.Get("id"), Route: v.Get("route"), Headers: v["header"]}
	if text := v.Get("since"); text != "" {
		if q.Since, err = strconv.ParseUint(text, 10, 64); err != nil {
			return q, false
		}
	}
	long := func(text string) bool { return len(text) > longestText }
	if len(q.Headers) > MostHeaders || slices.ContainsFunc(q.Headers, func(name string) bool { return CheckHeader(name) != nil }) {
		return q, false
	}
	if len(q.Tables) > mostTables || slices.ContainsFunc(append([]string{q.Tap, q.ID, q.Route}, q.Tables...), long) || !IsStatus(q.Status) {
		return q, false
	}
	return q, true
}

// Failed is the Status of all requests that failed.
const Failed = "failed"

// IsStatus reports whether text says which statuses are wanted: a number of 0 or 100 to 599, a class as 5xx,
// failed, or nothing.
func IsStatus(text string) bool {
	switch text {
	case "", Failed, "0", "1xx", "2xx", "3xx", "4xx", "5xx":
		return true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n >= 100 && n < 600
}

// Wants reports whether the question is for a request.
func (q *RequestsQuestion) Wants(r *SeenRequest) bool {
	switch {
	case len(q.Tables) > 0 && !slices.Contains(q.Tables, r.Table):
		return false
	case q.ID != "" && q.ID != r.ID:
		return false
	case q.Route != "" && !slices.ContainsFunc(r.Origins(), func(o SeenOrigin) bool { return q.Route == o.Name || q.Route == o.Kind+"/"+o.Name }):
		return false
	}
	return q.wantsStatus(r)
}

func (q *RequestsQuestion) wantsStatus(r *SeenRequest) bool {
	switch {
	case q.Status == "":
		return true
	case q.Status == Failed:
		return r.HasFailed()
	case strings.HasSuffix(q.Status, "xx"):
		return r.Status/100 == uint32(q.Status[0]-'0')
	}
	return strconv.FormatUint(uint64(r.Status), 10) == q.Status
}

// HasFailed reports whether a request is one of those of which sidecars write lines although nobody
// watches.
func (r *SeenRequest) HasFailed() bool {
	return r.Flags != "" || r.Status >= 500 || r.Status == 0 || r.Status == 403 || r.Status == 408 || r.Status == 413
}

// SeenOrigin is whose values stand in a route, as the metadata of the route has it.
type SeenOrigin struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	RuleName  string `json:"ruleName,omitempty"`
	Field     string `json:"field,omitempty"`
}

// Origins are whose values stand in the route that took the request; none where By is nothing that is
// understood.
func (r *SeenRequest) Origins() (out []SeenOrigin) {
	if json.Unmarshal([]byte(r.By), &out) != nil {
		return nil
	}
	for i := range out {
		o := &out[i]
		for _, text := range []*string{&o.Kind, &o.Namespace, &o.Name, &o.RuleName, &o.Field} {
			*text = Printable(*text, longestText)
		}
	}
	return out
}

// ReadSeenRequests reads what an agent answered. It is somebody else's text, so that each piece of it is
// bounded, and may be shown in a terminal.
func ReadSeenRequests(text []byte) (s SeenRequests, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("the answer of an agent: %w", err)
	}
	for i := range s.Requests {
		r := &s.Requests[i]
		for _, text := range []*string{&r.ID, &r.Method, &r.Authority, &r.Path, &r.Protocol, &r.UserAgent, &r.Flags, &r.Details, &r.Host, &r.Caller, &r.Client, &r.Table} {
			*text = Printable(*text, longestText)
		}
		r.Headers, r.AnswerHeaders = printableHeaders(r.Headers), printableHeaders(r.AnswerHeaders)
		for j := range r.Attempts {
			a := &r.Attempts[j]
			for _, text := range []*string{&a.Host, &a.Flags, &a.Details} {
				*text = Printable(*text, longestText)
			}
		}
	}
	return s, nil
}

// Printable is text of somebody else with at most so many bytes, and nothing in it that a terminal would
// obey.
func Printable(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
