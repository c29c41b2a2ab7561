package golden

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sim"
)

// each writes one line for each request: a request begins with a method or a URL.
func (a *asker) each() error {
	var asked [][]string
	for i, w := range a.words[1:] {
		header := strings.Contains(w, ":") && !strings.Contains(w, "://")
		afterMethod := i > 0 && !strings.Contains(a.words[i], ":")
		if header || afterMethod {
			last := len(asked) - 1
			asked[last] = append(asked[last], w)
		} else {
			asked = append(asked, []string{w})
		}
	}
	for _, words := range asked {
		fmt.Fprintf(&a.out, "%s: ", strings.Join(words, " "))
		v, err := sim.Run(a.model, a.plane(), request(words))
		if err != nil {
			fmt.Fprintln(&a.out, err)
			continue
		}
		for _, b := range v.Branches {
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
	fmt.Fprintln(&a.out, strings.Join(parts, ", "))
}

// own writes the status of a route as its language has it.
func (a *asker) own() error {
	ref := api.Ref{Kind: a.word(0), Mesh: "default"}
	ref.Namespace, ref.Name = api.CutNamespace(a.word(1))
	s, err := inspect.StatusOf(a.model.Reader(nil), ref, nil)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(s.Own, "", " ")
	fmt.Fprintf(&a.out, "%s\n", text)
	return err
}
