package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Verdict is what would happen to one request (spec/contract.md 4).
type Verdict struct {
	From        string        `json:"from"`
	Request     wire.Request  `json:"request"`
	Destination *Destination  `json:"destination,omitempty"`
	Branches    []Branch      `json:"branches"`
	Missed      []lookup.Miss `json:"missed,omitempty"`
	// Unknown is what Envoy does with this request that the simulator does not know.
	Unknown []string   `json:"unknown,omitempty"`
	Notes   []api.Note `json:"notes,omitempty"`
}

// Host is the host that routes may be for: that of the destination, or which the request asks for
// where it leads nowhere; empty where it leads to a service.
func (v *Verdict) Host() string {
	switch {
	case v.Destination != nil && v.Destination.Kind == api.KindHost:
		return v.Destination.Name
	case v.Destination != nil:
		return ""
	}
	u, err := url.Parse(v.Request.URL)
	if err != nil {
		return ""
	}
	return wire.HostOf(cmp.Or(v.Request.Headers["host"], u.Host))
}

// Destination is what the URL's host and port lead to.
type Destination struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Port      uint32 `json:"port,omitempty"`
}

// Outcome is what the proxy does.
type Outcome string

// The outcomes.
const (
	Forward     Outcome = "forward"
	Redirect    Outcome = "redirect"
	Respond     Outcome = "respond"
	Passthrough Outcome = "passthrough"
	Close       Outcome = "close"   // of a connection
	Refused     Outcome = "refused" // of a connection, by a sidecar that does not let the caller in
	Reset       Outcome = "reset"   // of a stream, by a sidecar that is called
)

// Route is the route that matched.
type Route struct {
	Key     string        `json:"key"`
	Name    string        `json:"name"`
	Matches []match.Match `json:"matches,omitempty"`
	Origins []*api.Origin `json:"origins,omitempty"`
	// ServerName is that of the chain which takes the connection, because its client asks
	// in TLS for the name, or for one below it where it begins with *.
	ServerName string `json:"serverName,omitempty"`
}

// Run says what happens to a request that the workload of a dataplane sends, on
// its own side and on that of each backend; it visits the endpoints of the route's
// backends and nothing else. The error is a *NotReached where no outbound leads
// to the URL, else it tells everything that is wrong with the request itself, as
// Check does.
func Run(w lookup.Reader, from api.Ref, q wire.Request) (Verdict, error) {
	if q.Method == "" && !q.Connection() {
		q.Method = http.MethodGet
	}
	v := Verdict{From: from.FullName(), Request: q}
	if err := Check(q); err != nil {
		return v, err
	}
	script, _ := timeline.ReadAnswers(q.Answers) // which Check has read
	who, _ := callerOf(&q)
	r, ok := w.Dataplane(from)
	if !ok {
		return v, fmt.Errorf("%s: there is no such dataplane", from)
	}
	f, err := lookup.Find(w, r, q)
	if err != nil {
		return v, err
	}
	v.Missed = f.Missed
	if o := f.Outbound; o != nil {
		d := o.Destination
		v.Destination = &Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}
	}
	if f.IsRead() {
		v.Unknown = append(wire.UnknownHeaders(q), f.Unknown...)
	}
	for _, l := range f.Ends {
		for _, b := range (trace{world: w, from: r, draws: l.Draws, caller: who}).branches(l, q, script) {
			for _, u := range b.unknown {
				if !slices.Contains(v.Unknown, u) {
					v.Unknown = append(v.Unknown, u)
				}
			}
			v.Branches = append(v.Branches, b.authorized(l.Call)...)
		}
	}
	v.Notes = append(v.Notes, who.idle(v.Branches)...)
	return v, nil
}
