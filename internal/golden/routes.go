package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/buckets"
)

// each writes one line for each request: a request begins with a method or a URL.
func (a *asker) each() error {
	asked, err := Requests(a.question)
	if err != nil {
		return err
	}
	for _, q := range asked {
		fmt.Fprintf(&a.out, "%s: ", q.Text)
		v, err := sim.Run(a.model, a.plane(), q.Request)
		if err != nil {
			fmt.Fprintln(&a.out, err)
			continue
		}
		for i, b := range v.Branches {
			if i == 0 && len(v.Branches) > 1 {
				a.out.WriteString("\n")
			}
			if len(v.Branches) > 1 {
				fmt.Fprintf(&a.out, "  %g of them ", b.Probability)
			}
			a.branch(&b)
		}
	}
	return nil
}

func (a *asker) branch(b *sim.Branch) {
	var parts []string
	switch b.Outcome {
	case sim.Forward:
		for _, x := range b.Backends {
			name := x.Name
			if x.Namespace != "" {
				name = x.Namespace + "/" + x.Name
			}
			parts = append(parts, fmt.Sprintf("%g to %s", x.Share, name))
		}
		if b.Forwarded != nil {
			parts = append(parts, "as "+b.Forwarded.Authority+b.Forwarded.Path)
		}
		for _, m := range b.Mirrors {
			parts = append(parts, fmt.Sprintf("%g copied to %s", m.Share, m.Name))
		}
	case sim.Redirect:
		parts = append(parts, fmt.Sprintf("%d %s", b.Status, b.Location))
	default:
		parts = append(parts, fmt.Sprintf("%s %d %s", b.Outcome, b.Status, b.Body))
	}
	if b.Route != nil {
		parts = append(parts, "by "+b.Route.Name)
	}
	fmt.Fprintln(&a.out, strings.Join(append(parts, besides(b)...), ", "))
}

// besides is what happens to the answer's headers, who is asked, and the limit.
func besides(b *sim.Branch) []string {
	var out []string
	if c := b.ResponseHeaders; c != nil {
		for _, name := range slices.Sorted(maps.Keys(c.Set)) {
			out = append(out, "answers have "+name+": "+c.Set[name])
		}
		for _, name := range slices.Sorted(maps.Keys(c.Add)) {
			out = append(out, "answers have too "+name+": "+c.Add[name])
		}
		for _, name := range c.Remove {
			out = append(out, "answers have no "+name)
		}
	}
	for _, x := range b.Authorization {
		out = append(out, "asks "+x.Name+"("+strings.Join(x.Args, ", ")+")")
	}
	for _, kind := range slices.Sorted(maps.Keys(b.Policies)) {
		if l, ok := b.Policies[kind].Conf.(buckets.Limiter); ok {
			if bucket, ok := l.Bucket(); ok {
				out = append(out, fmt.Sprintf("%d each %v", bucket.Tokens, bucket.Interval))
			}
		}
	}
	return out
}

// own writes the status of a route as its language has it.
func (a *asker) own() error {
	ref := api.Ref{Kind: a.word(0), Mesh: "default"}
	ref.Namespace, ref.Name = api.CutNamespace(a.word(1))
	s, err := conditions.StatusOf(a.model.Reader(nil), ref, nil)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(s.Own, "", " ")
	fmt.Fprintf(&a.out, "%s\n", text)
	return err
}
