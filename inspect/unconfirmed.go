package inspect

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// Unconfirmed is a type of which an Envoy has neither confirmed nor refused what it was sent, or for
// which it has not asked though it has clusters.
type Unconfirmed struct {
	Type      string // cds, eds, sds, lds, rds
	Requested bool   // it asked for the type, and was sent something
	Since     time.Time
	// Resolving are the first of the clusters that it may wait for since they are reached by names.
	Resolving []string
}

// UnconfirmedBy is a dataplane whose Envoy has not confirmed something for longer than Envoys take.
type UnconfirmedBy struct {
	Dataplane string    `json:"dataplane"`
	Type      string    `json:"type"`  // cds, eds, sds, lds, rds
	Requested bool      `json:"asked"` // false: it has not even asked for the type, though it has clusters
	Since     time.Time `json:"since"`
	// Message is what it may wait for, and how to look.
	Message string `json:"message"`
}

// mostWaiting bounds those of a mesh that are told: all stand in Behind.
const mostWaiting = 50

// mostHosts bounds the names that one of them may wait for.
const mostHosts = 3

// waits reports whether its Envoy takes longer than Envoys take.
func (s *Sidecar) waits() bool { return s.Connected && !s.InSync && len(s.Unconfirmed) > 0 }

var typeNames = map[string]string{"cds": "clusters", "eds": "endpoints", "sds": "certificates", "lds": "listeners", "rds": "routes"}

// typeName is a type of xDS, as lds, in words.
func typeName(short string) string {
	if name, ok := typeNames[short]; ok {
		return name
	}
	return short
}

// lacks says what an Envoy has not done.
func lacks(short string, asked bool) string {
	if asked {
		return "has not confirmed " + typeName(short)
	}
	return "has not asked for " + typeName(short)
}

// Lacks says what its Envoy has not done, as "has not confirmed clusters".
func (u *UnconfirmedBy) Lacks() string { return lacks(u.Type, u.Requested) }

// waiting are the first of the sidecars of a list that wait, each with what it has waited for longest.
func waiting(m *resolve.Reader, refs []api.Ref, known FindSidecar) (out []UnconfirmedBy) {
	for _, ref := range refs {
		c, ok := known(ref)
		if !ok || !c.waits() {
			continue
		}
		u := c.oldest()
		out = append(out, UnconfirmedBy{ref.FullName(), u.Type, u.Requested, u.Since, c.why(m, u)})
		if len(out) == mostWaiting {
			break
		}
	}
	return out
}

// oldest is what it has had for longest of what it has not confirmed.
func (s *Sidecar) oldest() Unconfirmed {
	return slices.MinFunc(s.Unconfirmed, func(a, b Unconfirmed) int { return a.Since.Compare(b.Since) })
}

// WaitsFor says that its Envoy has not confirmed something for longer than Envoys take, what it may wait
// for and how to look; empty where it does not. A nil m names no hosts.
func (s *Sidecar) WaitsFor(m *resolve.Reader) string {
	if !s.waits() {
		return ""
	}
	u := s.oldest()
	return fmt.Sprintf("its Envoy %s since %s: %s", lacks(u.Type, u.Requested), u.Since.UTC().Format(time.RFC3339), s.why(m, u))
}

// why is what may keep an Envoy from confirming, as far as the control plane knows: why it
// waits is known to itself alone.
func (s *Sidecar) why(m *resolve.Reader, u Unconfirmed) string {
	name := s.Dataplane.Name
	if s.Dataplane.Namespace != "" {
		name = s.Dataplane.Namespace + "/" + name
	}
	look := fmt.Sprintf("`weft inspect config-dump %s` lists those that are not as dynamic_warming_clusters", name)
	does := "it confirms clusters when all are ready"
	switch {
	case !u.Requested:
		does = "it asks for them, and begins to serve, when all its clusters are ready"
	case u.Type != "cds":
		return "it answers as soon as it has read them, so it may be busy, stopped or cut off; look at the load and the log of its sidecar"
	}
	hosts := s.resolving(m, u)
	if len(hosts) == 0 {
		return does + ", with their endpoints, certificates and first health checks, unless it is busy, stopped or cut off; " + look
	}
	return does + ", and it may wait for names for which DNS does not answer: " + strings.Join(hosts, ", ") + "; ask DNS for them where the sidecar runs; " + look
}

// resolving are the names of the clusters that are reached by names, each with whose it is, of many the first.
func (s *Sidecar) resolving(m *resolve.Reader, u Unconfirmed) []string {
	var out []string
	var r *effective.Resolved
	if m != nil {
		r, _ = m.Dataplane(s.Dataplane)
	}
	for _, cluster := range u.Resolving {
		at := -1
		if r != nil {
			at = slices.IndexFunc(r.Clusters, func(c effective.ClusterUse) bool { return c.Cluster.Name == cluster })
		}
		text := "those of cluster " + cluster
		if at >= 0 && r.Clusters[at].Destination.External != nil {
			text = namesOfCluster(r.Clusters[at].Destination)
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if more := len(out) - mostHosts; more > 0 {
		out = append(out[:mostHosts], "and others")
	}
	return out
}

// namesOfCluster are the names by which an external destination is reached.
func namesOfCluster(d *effective.Destination) string {
	var hosts []string
	for _, e := range d.External.Endpoints {
		if _, err := netip.ParseAddr(e.Address); err != nil && !strings.HasPrefix(e.Address, "unix:") && !slices.Contains(hosts, e.Address) {
			hosts = append(hosts, e.Address)
		}
	}
	if more := len(hosts) - mostHosts; more > 0 {
		hosts = append(hosts[:mostHosts], "others")
	}
	text := strings.Join(hosts, " and ")
	if d.Ref.Name != "" {
		text += " of " + terminal.OriginText(&api.Origin{Ref: d.Ref})
	}
	return text
}
