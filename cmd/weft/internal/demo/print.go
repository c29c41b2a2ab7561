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
	if p := branch.Permission; p != nil && s.permission != nil {
		fmt.Fprintf(t, "     permission\t%s\n", permissionText(p))
	}
	var rest []string // who says what no document of the demo does
	for _, kind := range slices.Sorted(maps.Keys(branch.Policies)) {
		said, head := branch.Policies[kind].Why, kind
		for _, path := range slices.Sorted(maps.Keys(said)) {
			by := origin(said[path][len(said[path])-1].Origin)
			if !s.tells(kind, path, by) {
				rest = append(rest, by)
				continue
			}
			fmt.Fprintf(t, "     %s\t%s\t%s\n", head, path, d.fieldText(said[path]))
			head = ""
		}
	}
	t.Flush() // to the same place as the lines before
	if n := len(rest); n > 0 {
		slices.Sort(rest)
		fmt.Fprintf(w, "     %s\n", d.paint(dim, fmt.Sprintf("and %d more by default: %s", n, strings.Join(slices.Compact(rest), ", "))))
	}
}

// tells reports whether a field belongs to the story of the step: somebody
// other than the mesh's first policies sets it, or the step compares it.
func (s step) tells(kind, path, by string) bool {
	if by != builtIn && !strings.Contains(by, "/mesh-") {
		return true
	}
	return slices.ContainsFunc(s.fields, func(f field) bool { return f.kind == kind && f.path == path })
}

// asked is the request with its answers, equal ones counted.
func (d *Demo) asked(s step, all []Response, remark string) string {
	text := "GET http://" + s.host + s.path + "  ->  "
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

// fieldText is the value that holds, who set it, and over whom.
func (d *Demo) fieldText(said []sim.Opinion) string {
	winner := said[len(said)-1]
	text := fmt.Sprintf("%s\tby %s", bare(winner.Value), origin(winner.Origin))
	if winner.Override {
		text += " (override)"
	}
	var over []string
	for _, x := range slices.Backward(said[:len(said)-1]) {
		if by := origin(x.Origin); by != builtIn {
			over = append(over, fmt.Sprintf("%s by %s", bare(x.Value), by))
		}
	}
	if len(over) > 0 {
		text += d.paint(dim, ", over "+strings.Join(over, ", "))
	}
	return text
}

// bare is a value as people write it.
func bare(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return value(v)
}

// Addresses tells a person where to go on.
func (d *Demo) Addresses(program, tokenFile string) {
	w := d.config.Out
	fmt.Fprintf(w, "\n%s\n", d.paint(bold, "The mesh stays up; Ctrl-C ends it. Go on in another terminal:"))
	for _, x := range d.mesh.calls() {
		fmt.Fprintf(w, "   curl -i -H 'host: %s' http://%s/   # through the sidecar of %s\n", x.host, d.mesh.outbounds[way{x.from, x.host}], x.from)
	}
	fmt.Fprintf(w, "   export WEFT_SERVER=%s WEFT_MESH=%s WEFT_TOKEN=$(cat %s)\n", d.plane.API, d.mesh.mesh, tokenFile)
	for _, args := range append(d.mesh.next, "gui") {
		fmt.Fprintf(w, "   %s %s\n", program, args)
	}
}
