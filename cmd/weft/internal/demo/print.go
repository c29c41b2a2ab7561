package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weftmesh/weft/sim"
)

// The colours of a terminal.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
)

func (d *Demo) paint(colour, text string) string {
	if !d.config.Paint {
		return text
	}
	return colour + text + plain
}

// print shows one step: what was asked, what came back, and why.
func (d *Demo) print(number int, s step, all []Response, remark string, why Explanation) {
	w := d.config.Out
	fmt.Fprintf(w, "\n%s\n", d.paint(bold, fmt.Sprintf("%d. %s", number, s.title)))
	for line := range strings.Lines(s.story) {
		fmt.Fprintf(w, "   %s\n", d.paint(dim, strings.TrimSpace(line)))
	}
	fmt.Fprintf(w, "\n   %s\n", d.asked(s, all, remark))
	branch := why.Branches[0]
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "     route\t%s\n", routeText(branch.Route))
	fmt.Fprintf(t, "     to\t%s\n", backendsText(branch))
	for _, kind := range slices.Sorted(maps.Keys(branch.Policies)) {
		for _, path := range slices.Sorted(maps.Keys(branch.Policies[kind].Why)) {
			if line, ok := d.fieldText(branch.Policies[kind].Why[path]); ok {
				fmt.Fprintf(t, "     %s\t%s\t%s\n", kind, path, line)
				kind = ""
			}
		}
	}
	t.Flush() // to the same place as the lines before
}

// asked is the request with its answers, equal ones counted.
func (d *Demo) asked(s step, all []Response, remark string) string {
	text := "GET http://" + s.service + s.path + "  ->  "
	if len(all) > 1 {
		text = fmt.Sprintf("%d x %s", len(all), text)
	}
	var statuses []string
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n].Status == all[i].Status {
			n++
		}
		colour := green
		if all[i].Status >= 400 {
			colour = red
		}
		part := d.paint(colour, fmt.Sprint(all[i].Status))
		if len(all) > 1 {
			part = fmt.Sprintf("%d x %s", n, part)
		}
		statuses = append(statuses, part)
		i += n
	}
	text += strings.Join(statuses, ", ")
	if remark != "" {
		text += "  (" + remark + ")"
	}
	return text
}

func routeText(r *sim.Route) string {
	if names := originNames(r); len(names) > 0 {
		return strings.Join(names, " + ")
	}
	return "none: the implicit route to the destination itself"
}

func backendsText(b sim.Branch) string {
	var parts []string
	for _, x := range b.Backends {
		text := x.Kind + "/" + x.Name
		for _, tag := range slices.Sorted(maps.Keys(x.Tags)) {
			text += " " + tag + "=" + x.Tags[tag]
		}
		parts = append(parts, text+" "+percent(x.Share))
	}
	return strings.Join(parts, ", ")
}

// fieldText is the value that holds, who set it, and over whom; not for what
// nobody but the built-in defaults says.
func (d *Demo) fieldText(said []sim.Said) (string, bool) {
	winner := said[len(said)-1]
	if winner.Origin == nil || winner.Origin.Name == "" {
		return "", false
	}
	text := fmt.Sprintf("%s\tby %s", value(winner.Value), origin(winner.Origin))
	var over []string
	for _, x := range slices.Backward(said[:len(said)-1]) {
		over = append(over, fmt.Sprintf("%s by %s", value(x.Value), origin(x.Origin)))
	}
	if len(over) > 0 {
		text += d.paint(dim, ", over "+strings.Join(over, ", "))
	}
	return text, true
}

// Addresses tells a person where to go on.
func (d *Demo) Addresses(program, tokenFile string) {
	w := d.config.Out
	fmt.Fprintf(w, "\n%s\n", d.paint(bold, "The mesh stays up; Ctrl-C ends it. Go on in another terminal:"))
	for _, s := range called {
		fmt.Fprintf(w, "   curl -i http://%s/   # %s through frontend's sidecar\n", d.mesh.outbounds[s], s)
	}
	fmt.Fprintf(w, "   export WEFT_SERVER=%s WEFT_TOKEN=$(cat %s)\n", d.plane.API, tokenFile)
	for _, args := range []string{
		"get meshretries", "explain dataplane " + caller + " --to web", "simulate --from " + caller + " GET http://orders/slow", "status",
	} {
		fmt.Fprintf(w, "   %s %s\n", program, args)
	}
}
