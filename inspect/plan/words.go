package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
)

// what is the field or part of an effect, in words.
func (e *Effect) what() string {
	if e.Policy != "" {
		return e.Policy + " " + e.Field
	}
	return string(e.Section)
}

// place is where at its dataplanes an effect is, in words; empty for all of one.
func (e *Effect) place() string {
	switch {
	case e.Inbound != nil:
		return "inbound " + e.Inbound.Name
	case e.Destination == nil:
		return ""
	}
	d := e.Destination
	name := d.Name
	if d.Namespace != "" {
		name = d.Namespace + "/" + name
	}
	if d.Port != 0 {
		name += ":" + strconv.Itoa(int(d.Port))
	}
	text := "to " + d.Kind + " " + name
	if e.Route != nil && e.Route.Text != "" {
		text += ", " + e.Route.Text
	}
	return text
}

// change is what an effect changes, in words.
func (e *Effect) change() string {
	switch {
	case e.Section == SectionRoute && e.Before == nil:
		return "new"
	case e.Section == SectionRoute && e.After == nil:
		return "goes"
	case e.Section == SectionEndpoints || e.Section == SectionNames:
		return strings.TrimSpace(listed("- ", e.Before) + " " + listed("+ ", e.After))
	case e.Policy != "" && !differs(e.Before, e.After):
		return valueText(e.After) + ", as before"
	case e.Section == SectionOrigins:
		return originsText(e.Before) + " → " + originsText(e.After)
	}
	return valueText(e.Before) + " → " + valueText(e.After)
}

// by is whose word holds, in words.
func (e *Effect) by() string {
	if e.Section == SectionOrigins || e.Origin == nil && e.OriginBefore == nil {
		return ""
	}
	text := terminal.OriginText(e.Origin)
	if e.After == nil {
		return "was " + text
	}
	if e.OriginBefore != nil {
		text += ", not " + terminal.OriginText(e.OriginBefore) + " any more"
	}
	return "by " + text
}

// listed are texts with a sign before each; at most ten, and how many more.
func listed(sign string, v any) string {
	all, _ := plain(v).([]any)
	var out []string
	for i, x := range all {
		if i == 10 {
			out = append(out, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		out = append(out, sign+valueText(x))
	}
	return strings.Join(out, " ")
}

func originsText(v any) string {
	var origins []*api.Origin
	if json.Unmarshal(text(v), &origins) != nil || len(origins) == 0 {
		return "nobody"
	}
	var out []string
	for _, o := range origins {
		out = append(out, terminal.OriginText(o))
	}
	return strings.Join(out, " + ")
}

// valueText is a value as people write it.
func valueText(v any) string {
	switch x := plain(v).(type) {
	case nil:
		return "–"
	case string:
		if strings.ContainsFunc(x, unicode.IsControl) {
			return strconv.Quote(x)
		}
		return x
	case []any:
		var out []string
		for _, y := range x {
			out = append(out, elementText(y))
		}
		return strings.Join(out, ", ")
	default:
		return string(text(x))
	}
}

// elementText is a value of a list: a backend or a mirror as its name, port and share.
func elementText(v any) string {
	x, ok := v.(map[string]any)
	name, named := x["name"].(string)
	share, shared := x["share"].(json.Number)
	if !ok || !named || !shared {
		return valueText(v)
	}
	if port, ok := x["port"].(json.Number); ok {
		name += ":" + port.String()
	}
	part, _ := share.Float64()
	name += " " + strconv.FormatFloat(part*100, 'g', 4, 64) + " %"
	if reason, ok := x["reason"].(string); ok {
		name += " (" + reason + ")"
	}
	return name
}

// plain is v as JSON has it.
func plain(v any) any {
	d := json.NewDecoder(bytes.NewReader(text(v)))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// summary is the plan in one sentence.
func (p *Plan) summary() string {
	if p.Dataplanes.Affected == 0 {
		return "no dataplane is affected"
	}
	text := fmt.Sprintf("%d of %s affected", p.Dataplanes.Affected, terminal.Counted(p.Dataplanes.Total, "dataplane", "dataplanes"))
	if names := p.Dataplanes.Text(10); names != "" {
		text += ": " + names
	}
	return text
}
