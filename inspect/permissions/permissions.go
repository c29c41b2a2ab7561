// Package permissions tells who may call what, which document says so, and what permissions that are only tried
// have counted.
package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/permission"
)

// Permissions is who may call what in one mesh (spec/identity.md 4.7).
type Permissions struct {
	Mesh  string          `json:"mesh"`
	Items []PermissionRow `json:"items"`
	// Left is how many rows there are beside them: callers times destinations.
	Left int `json:"left,omitempty"`
	// Counts are of what shadows would have refused, where they were asked for.
	Counts *ShadowCounts `json:"counts,omitempty"`
}

// PermissionRow is what one caller may do at one destination.
type PermissionRow struct {
	Caller      PermittedCaller      `json:"caller"`
	Destination PermittedDestination `json:"destination"`
	// Access is allow or deny; some where it depends on the request; open where nobody asks
	// who calls.
	Access string                   `json:"access"`
	By     *permission.PermissionBy `json:"by,omitempty"`     // the entry that decides, or the first that may
	Shadow string                   `json:"shadow,omitempty"` // deny: so it would be, were shadows real
	Reason string                   `json:"reason,omitempty"` // of a decision that no entry made
}

// PermittedCaller is all dataplanes that prove one name.
type PermittedCaller struct {
	Identity   string   `json:"identity"` // empty: they prove none
	Dataplanes int      `json:"dataplanes"`
	Names      []string `json:"names"` // of the first of them
	proves     []string
}

// PermittedDestination is all inbounds of one service that decide alike.
type PermittedDestination struct {
	Service    string       `json:"service"` // kuma.io/service, else the name of the dataplane
	Port       uint32       `json:"port"`
	Protocol   api.Protocol `json:"protocol"`
	Mode       string       `json:"mode,omitempty"` // of mutual TLS; empty: none
	Dataplanes int          `json:"dataplanes"`
	Names      []string     `json:"names"`
	inbound    *effective.Inbound
}

// OpenAccess is that of a destination that asks nobody who calls.
const OpenAccess = "open"

// Bounds of an answer.
const (
	mostRows  = 2000
	mostPeers = 5
)

// Of says who may call what: callers are those of one dataplane where from names it,
// destinations those of a service where to does.
func Of(q *resolve.Reader, mesh, from, to string) (*Permissions, error) {
	callers, destinations := map[string]*PermittedCaller{}, map[destinationKey]*PermittedDestination{}
	judges := map[permission.Decider]int{}
	known := false
	for r := range q.Dataplanes(mesh) {
		if from == "" || r.Ref.Name == from || r.Ref.FullName() == from {
			known = true
			addCaller(callers, r)
		}
		for _, in := range r.Inbounds {
			addDestination(destinations, judges, r, in.AsDocumented(), to)
		}
	}
	if from != "" && !known {
		return nil, fmt.Errorf("dataplane %s: %w", from, inspect.ErrNotFound)
	}
	out := &Permissions{Mesh: mesh, Items: []PermissionRow{}}
	sorted := sortedBy(callers, func(names string) string { return fmt.Sprint(tuple.Split(names)) })
	for _, d := range sortedBy(destinations, destinationKey.text) {
		for _, c := range sorted {
			if len(out.Items) == mostRows {
				out.Left++
				continue
			}
			out.Items = append(out.Items, rowOf(c, d))
		}
	}
	return out, nil
}

func addCaller(all map[string]*PermittedCaller, r *effective.Resolved) {
	proves := r.Proves()
	key := tuple.Join(proves...)
	c := all[key]
	if c == nil {
		c = &PermittedCaller{proves: proves}
		if len(proves) > 0 {
			c.Identity = proves[0]
		}
		all[key] = c
	}
	c.Dataplanes, c.Names = peers(c.Dataplanes, c.Names, r)
}

// destinationKey tells destinations apart.
type destinationKey struct {
	service  string
	port     uint32
	protocol api.Protocol
	mode     string
	judge    int
	rules    string
}

// text is by what destinations are sorted.
func (k destinationKey) text() string {
	return k.service + " " + strconv.FormatUint(uint64(k.port), 10) + " " + string(k.protocol) + " " + k.mode + " " + strconv.Itoa(k.judge) + k.rules
}

func addDestination(all map[destinationKey]*PermittedDestination, judges map[permission.Decider]int, r *effective.Resolved, in *effective.Inbound, to string) {
	key := destinationKey{service: serviceOf(r, in), port: in.Port, protocol: in.Protocol}
	if to != "" && key.service != to {
		return
	}
	number := func(by permission.Decider) int {
		if by == nil {
			return 0
		}
		if _, ok := judges[by]; !ok {
			judges[by] = len(judges) + 1
		}
		return judges[by]
	}
	if in.TLS != nil {
		key.mode, key.judge = in.TLS.Mode, number(permission.DeciderOf(in))
		for i := range in.Rules {
			key.rules += fmt.Sprintf(" %s %d", in.Rules[i].Match.Text(), number(permission.DeciderAt(&in.Rules[i])))
		}
	}
	d := all[key]
	if d == nil {
		d = &PermittedDestination{Service: key.service, Port: key.port, Protocol: key.protocol, Mode: key.mode, inbound: in}
		all[key] = d
	}
	d.Dataplanes, d.Names = peers(d.Dataplanes, d.Names, r)
}

func peers(n int, names []string, r *effective.Resolved) (int, []string) {
	if len(names) < mostPeers {
		names = append(names, r.Ref.FullName())
	}
	return n + 1, names
}

// sortedBy are the values of a map by what text makes of their keys.
func sortedBy[K comparable, T any](m map[K]*T, text func(K) string) []*T {
	type entry struct {
		text string
		of   *T
	}
	list := make([]entry, 0, len(m))
	for k, v := range m {
		list = append(list, entry{text(k), v})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
	out := make([]*T, len(list))
	for i, e := range list {
		out[i] = e.of
	}
	return out
}

func rowOf(c *PermittedCaller, d *PermittedDestination) PermissionRow {
	row := PermissionRow{Caller: *c, Destination: *d, Access: OpenAccess}
	p := permission.Access(d.inbound, c.proves)
	if p == nil {
		row.Reason = "nobody proves who calls there"
		return row
	}
	row.Access, row.By, row.Shadow, row.Reason = p.Decision, p.By, p.Shadow, p.Reason
	if p.Decision == permission.Allow && p.Tier == 0 {
		row.Access = OpenAccess
	}
	return row
}
