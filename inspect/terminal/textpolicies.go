package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/sim"
)

// row is a value and who says it; raw is the value without colours.
type row struct{ raw, shown, by string }

// Policies lists each field with who set it; under it those that hold beside it, as entries of lists
// do that add up, and those who lost, the strongest first. That a built-in default lost is what everybody expects, and
// one without effect is nothing to tell.
func (p *Printer) Policies(indent string, views map[string]sim.Policy) {
	for _, kind := range slices.Sorted(maps.Keys(views)) {
		rows := p.rows(views[kind])
		if len(rows) == 0 {
			continue
		}
		if where := p.again(kind, rows); where != "" {
			p.Line("%s%s  %s", indent, kind, p.Faint("as for "+where))
			continue
		}
		p.Line("%s%s", indent, kind)
		width := 0
		for _, r := range rows {
			width = max(width, utf8.RuneCountInString(r.raw))
		}
		for _, r := range rows {
			p.Line("%s%s%*s  %s", indent, r.shown, width-utf8.RuneCountInString(r.raw), "", p.Faint(r.by))
		}
		if n := views[kind].Buckets; n > 1 {
			p.Line("%s  %s", indent, p.Faint(fmt.Sprintf("%d buckets at this destination, each with the whole rate", n)))
		}
	}
}

// Onward lists what is said about the connections to backends that have their own.
func (p *Printer) Onward(indent string, list []sim.Backend) {
	outer := p.At
	for i := range list {
		if list[i].Policies == nil {
			continue
		}
		what := "connections to " + BackendText(list[i])
		if len(list[i].Policies) == 0 {
			p.Line("%s%s  %s", indent, what, p.Faint("without policies"))
			continue
		}
		p.Line("%s%s", indent, what)
		p.At = outer + ", " + what
		p.Policies(indent+"  ", list[i].Policies)
	}
	p.At = outer
}

func (p *Printer) rows(view sim.Policy) []row {
	var plain Style
	var rows []row
	for _, field := range slices.Sorted(maps.Keys(view.Why)) {
		said := view.Why[field]
		last := said[len(said)-1]
		by := saidBy(last)
		if slices.Contains(view.Idle, field) {
			if p.Short {
				p.idle++
			}
			if last.Layer == "default" || p.Short {
				continue
			}
			by += ", without effect " + cmp.Or(view.IdleReason, "here")
		}
		holds := "  " + field + " = " + valueText(last.Value)
		rows = append(rows, row{holds, holds, by})
		if also := view.Implied[field]; len(also) > 0 && !slices.Contains(view.Idle, field) {
			text := "    and by this: " + strings.Join(also, ", ")
			rows = append(rows, row{"", text, ""}) // nobody stands beside it
		}
		for i := len(said) - 2; i >= 0 && said[i].Layer != "default"; i-- {
			v := valueText(said[i].Value)
			if said[i].Joined() { // beside the last: nothing replaces it
				rows = append(rows, row{"    + " + v, "    + " + v, saidBy(said[i])})
				continue
			}
			if said[i].Holds {
				rows = append(rows, row{"    " + v, "    " + v, saidBy(said[i]) + lostBy(said[i]) + ", and holds by this"})
				continue
			}
			rows = append(rows, row{"    " + plain.Loser(v), "    " + p.Loser(v), saidBy(said[i]) + lostBy(said[i])})
		}
	}
	return append(rows, p.replaced(view)...)
}

// replaced are the fields that do not hold, because another that was set more strongly stands in their place.
func (p *Printer) replaced(view sim.Policy) (rows []row) {
	var plain Style
	for _, field := range slices.Sorted(maps.Keys(view.Replaced)) {
		x := view.Replaced[field]
		last := x.Said[len(x.Said)-1]
		text := field + " = " + valueText(last.Value)
		rows = append(rows, row{"  " + plain.Loser(text), "  " + p.Loser(text), saidBy(last) + ", replaced by " + x.By})
	}
	return rows
}

func saidBy(s sim.Opinion) string {
	if s.Layer == "default" {
		return OriginText(s.Origin)
	}
	if s.Override {
		return OriginText(s.Origin) + " (override, " + s.Layer + ")"
	}
	return OriginText(s.Origin) + " (" + s.Layer + ")"
}

// lostBy says what decided against an opinion.
func lostBy(s sim.Opinion) string {
	if s.Lost == "" {
		return ""
	}
	return ", lost: " + merge.Reason(s.Lost)
}

// valueText is a value as a document would have it.
func valueText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(b), `"`)
}
