package permissions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// ShadowCounts are what shadows of permissions would have refused, by the counters of Envoys since
// they began (spec/identity.md 4.2).
type ShadowCounts struct {
	Items []ShadowCount `json:"items"`
	// Asked is how many Envoys have answered, Silent are those that did not, Left is how many were
	// not asked.
	Asked  int      `json:"asked"`
	Silent []string `json:"silent,omitempty"`
	Left   int      `json:"left,omitempty"`
}

// ShadowCount is of one port of a service.
type ShadowCount struct {
	Service string `json:"service"`
	Port    uint32 `json:"port"`
	// WouldDeny are requests that were let in and would be refused, were shadows real, of Of that
	// shadows were asked about.
	WouldDeny uint64 `json:"wouldDeny"`
	Of        uint64 `json:"of"`
	// Plain are requests in plain text that an inbound which takes mutual TLS alone would refuse.
	Plain   uint64       `json:"plain,omitempty"`
	Entries []EntryCount `json:"entries,omitempty"`
}

// EntryCount is of one entry of a permission, by its name in the counters: KRI:RULE.LISTINDEX;
// nobody is that no entry would allow it.
type EntryCount struct {
	Entry     string `json:"entry"`
	WouldDeny uint64 `json:"wouldDeny"`
}

// MostCounted bounds how many Envoys are asked for one answer.
const MostCounted = 50

// CountedIn are the dataplanes of a mesh whose Envoys count what shadows would refuse at the inbounds
// of one service, or all, and how many more there are than are asked.
func CountedIn(q *resolve.Reader, mesh, to string) (asked []api.Ref, left int) {
	for r := range q.Dataplanes(mesh) {
		if !slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil && (to == "" || serviceOf(r, i.Inbound) == to) }) {
			continue
		}
		if len(asked) == MostCounted {
			left++
			continue
		}
		asked = append(asked, r.Ref)
	}
	return asked, left
}

// serviceOf is how the service of an inbound is called where permissions are shown.
func serviceOf(r *effective.Resolved, in *effective.Inbound) string {
	return cmp.Or(in.Tags[api.TagService], r.Ref.FullName())
}

// shadowStat is a counter of what shadows would refuse or allow, in all or by one entry.
var shadowStat = regexp.MustCompile(`^(?:http|tcp)\.inbound_(.+?)(\.mtls|\.plain|\.own)?\.rbac\.weft_\.(?:policy\.(.+)\.)?shadow_(denied|allowed)$`)

// CountShadows sums up what Envoys have answered, as JSON, to the question for their statistics; nil is
// of one that has not.
func CountShadows(q *resolve.Reader, mesh, to string, answers map[api.Ref][]byte) *ShadowCounts {
	out := &ShadowCounts{Items: []ShadowCount{}}
	type place struct {
		service string
		port    uint32
	}
	counts, entries := map[place]*ShadowCount{}, map[place]map[string]uint64{}
	for _, ref := range slices.SortedFunc(maps.Keys(answers), api.Ref.Compare) {
		var said struct {
			Stats []struct {
				Name  string `json:"name"`
				Value uint64 `json:"value"`
			} `json:"stats"`
		}
		r, ok := q.Model.Dataplane(ref)
		if !ok || answers[ref] == nil || !readStats(answers[ref], &said) {
			out.Silent = append(out.Silent, ref.FullName())
			continue
		}
		out.Asked++
		at := map[string]place{}
		for _, i := range r.Inbounds {
			if p := (place{serviceOf(r, i.Inbound), i.Port}); to == "" || p.service == to {
				at[string(mtls.StatName(nil, i.Address, i.Port))] = p
			}
		}
		for _, s := range said.Stats {
			part := shadowStat.FindStringSubmatch(s.Name)
			if part == nil {
				continue
			}
			p, ok := at[part[1]]
			if !ok {
				continue
			}
			c := counts[p]
			if c == nil {
				c = &ShadowCount{Service: p.service, Port: p.port}
				counts[p], entries[p] = c, map[string]uint64{}
			}
			c.add(entries[p], part, s.Value)
		}
	}
	for p, c := range counts {
		for _, name := range slices.Sorted(maps.Keys(entries[p])) {
			c.Entries = append(c.Entries, EntryCount{name, entries[p][name]})
		}
		out.Items = append(out.Items, *c)
	}
	slices.SortFunc(out.Items, func(a, b ShadowCount) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port))
	})
	return out
}

// readStats reads numbers and leaves out what is none, such as histograms.
func readStats(text []byte, into any) bool {
	var all struct {
		Stats []json.RawMessage `json:"stats"`
	}
	if json.Unmarshal(text, &all) != nil {
		return false
	}
	all.Stats = slices.DeleteFunc(all.Stats, func(s json.RawMessage) bool { return !strings.Contains(string(s), "shadow_") })
	rest, err := json.Marshal(all)
	return err == nil && json.Unmarshal(rest, into) == nil
}

// add counts one statistic.
func (c *ShadowCount) add(entries map[string]uint64, part []string, n uint64) {
	plain, entry, denied := part[2] != ".mtls", part[3], part[4] == "denied"
	switch {
	case plain && entry == "" && denied:
		c.Plain += n
	case plain:
	case entry != "" && denied && n > 0:
		entries[entry] += n
	case entry == "" && denied:
		c.WouldDeny, c.Of = c.WouldDeny+n, c.Of+n
	case entry == "":
		c.Of += n
	}
}

func (x *ShadowCounts) text(p *terminal.Printer) {
	p.Line("")
	p.Line("%s  %s", p.Strong("shadows"), p.Faint(fmt.Sprintf("by the counters of %s", terminal.Counted(x.Asked, "Envoy", "Envoys"))))
	for i := range x.Items {
		c := &x.Items[i]
		p.Line("  %s at port %d: would deny %d of %d%s", c.Service, c.Port, c.WouldDeny, c.Of, terminal.When(c.Plain > 0, fmt.Sprintf("; %d in plain text would be refused by mode Strict", c.Plain)))
		for _, e := range c.Entries {
			p.Line("    %d by %s", e.WouldDeny, e.Entry)
		}
	}
	if len(x.Items) == 0 {
		p.Line("  nothing was counted")
	}
	if len(x.Silent) > 0 {
		p.Line("  did not answer: %s", inspect.FirstOf(x.Silent))
	}
	if x.Left > 0 {
		p.Line("  %d more were not asked; ask for one service", x.Left)
	}
}
