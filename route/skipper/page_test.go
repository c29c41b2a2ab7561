package skipper

import (
	"fmt"
	"strings"
)

// TablesBegin is the line of the page behind which the tables stand.
const TablesBegin = "<!-- from here on written by go test ./route/skipper -update -->\n"

// Tables are the tables of predicates and filters as the page has them.
func Tables() string {
	var b strings.Builder
	b.WriteString("\n## Predicates\n\n| predicate | what it asks |\n|---|---|\n")
	for _, p := range predicates {
		if p.read != nil {
			fmt.Fprintf(&b, "| `%s(%s)` | %s |\n", p.name, spoken(p.takes), p.means)
		}
	}
	b.WriteString("\nRefused:\n\n| predicate | why |\n|---|---|\n")
	for _, p := range predicates {
		if p.read == nil {
			fmt.Fprintf(&b, "| `%s` | %s |\n", p.name, p.means)
		}
	}
	section := func(title, head string, list []filter, in func(f *filter) bool, line func(f *filter) string) {
		fmt.Fprintf(&b, "\n%s\n\n| filter | %s |\n|---|---|\n", title, head)
		for i := range list {
			if f := &list[i]; in(f) {
				b.WriteString(line(f))
			}
		}
	}
	call := func(f *filter) string { return fmt.Sprintf("| `%s(%s)` | %s |\n", f.name, spoken(f.takes), f.means) }
	name := func(f *filter) string { return fmt.Sprintf("| `%s` | %s |\n", f.name, f.means) }
	section("## Filters", "what it does", changing, func(*filter) bool { return true }, call)
	section("Mapped to fields of policies, which stand below the policies that people attach:", "field", limiting, func(*filter) bool { return true }, call)
	section("Accepted, and without effect:", "why", lacking, func(f *filter) bool { return f.use&ignored != 0 }, name)
	section("How an endpoint is chosen, where the algorithm of the backend is `consistentHash`:", "what it does", balancing, func(*filter) bool { return true }, call)
	section("Asked of the authorization service, and without one the group is not applied:", "what it needs", guarding, func(*filter) bool { return true }, call)
	section("Refused:", "why", lacking, func(f *filter) bool { return f.use == 0 }, name)
	return b.String()
}
