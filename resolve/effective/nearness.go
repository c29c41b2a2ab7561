package effective

import (
	"fmt"
	"strings"
)

// NearnessSayer is a conf that says which endpoints of a cluster are near to a caller (spec/kinds.md 3.3). What it
// says depends on the caller alone, so that those with the same values share what is rendered.
type NearnessSayer interface {
	// Nearness is for a caller that has such values of tags.
	Nearness(value func(key string) (string, bool)) Nearness
	// NearnessField is the leaf that names the tags; empty where no tags hold.
	NearnessField() string
}

// Nearness is how a caller prefers endpoints: one belongs to the first of the tags that it shares with the caller,
// and who shares none to the others, whose weight is 1. The zero Nearness prefers nobody.
type Nearness struct {
	Tags []NearTag
	// Overprovisioning is Envoy's factor in hundredths: a tag gets its whole share for as long as that times the part
	// of its endpoints that are well is at least 1.
	Overprovisioning uint32
}

// NearTag is a tag as a caller has it.
type NearTag struct {
	Key, Value string
	Weight     uint32
}

// Nearness is which endpoints of a cluster are near to r.
func (r *Resolved) Nearness(c *Cluster) Nearness {
	for _, e := range c.Policies {
		if s, ok := e.Conf.(NearnessSayer); ok {
			return s.Nearness(r.tag)
		}
	}
	return Nearness{}
}

// tag is the value that r has of a tag: that of its first inbound with it, else that of its label.
func (r *Resolved) tag(key string) (string, bool) {
	for i := range r.Inbounds {
		if v, ok := r.Inbounds[i].Tags[key]; ok {
			return v, true
		}
	}
	v, ok := r.Dataplane.Labels[key]
	return v, ok
}

// At is the place of the tag that an endpoint belongs to; behind all tags for the others.
func (n *Nearness) At(e *Endpoint) int {
	for i, t := range n.Tags {
		has, tagged := e.Tags[t.Key]
		if !tagged {
			has, tagged = e.Labels[t.Key]
		}
		if tagged && has == t.Value {
			return i
		}
	}
	return len(n.Tags)
}

// Shares are the parts of requests that the endpoints of each tag get together, and behind them what the others get,
// while all are well; a part is 0 where nobody answers.
func (n *Nearness) Shares(list []Endpoint) []float64 {
	there := make([]bool, len(n.Tags)+1)
	for i := range list {
		there[n.At(&list[i])] = true
	}
	out, sum := make([]float64, len(there)), 0.0
	for i, is := range there {
		if is {
			out[i] = float64(n.Weight(i))
			sum += out[i]
		}
	}
	for i := range out {
		out[i] /= max(sum, 1)
	}
	return out
}

// Text is which parts of the requests to endpoints go where, in words; empty for a caller who prefers nobody.
func (n Nearness) Text(list []Endpoint) string {
	var out []string
	if len(n.Tags) > 0 {
		for i, share := range n.Shares(list) {
			name := "others"
			if i < len(n.Tags) {
				name = n.Tags[i].String()
			}
			if share > 0 {
				out = append(out, fmt.Sprintf("%.3g%% to %s", 100*share, name))
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "nearness (" + strings.Join(out, ", ") + ")"
}

// Weight is that of a tag, by its place; behind them that of the others.
func (n *Nearness) Weight(at int) uint32 {
	if at == len(n.Tags) {
		return 1
	}
	return n.Tags[at].Weight
}

// String is the tags as people read them, the same for callers that prefer the same.
func (n Nearness) String() string {
	var out strings.Builder
	for _, t := range n.Tags {
		fmt.Fprintf(&out, "%s (weight %d), ", t, t.Weight)
	}
	fmt.Fprintf(&out, "overprovisioning %d", n.Overprovisioning)
	return out.String()
}

// String is the tag as key=value.
func (t NearTag) String() string { return t.Key + "=" + t.Value }
