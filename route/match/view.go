package match

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api/jsonschema"
)

// absent is Kuma's word for Not Present.
const absent = "Absent"

var subjectWords = [...]string{
	OnPath: "path", OnMethod: "method", OnHeader: "header", OnQuery: "queryParam", OnCookie: "cookie",
	OnAuthority: "authority", OnClaim: "claim", OnChance: "chance",
}

// Written is the condition that a document writes as a type, a name and a value:
// {type: Prefix, name: x-user, value: a}. Which types are legal where is for each
// language to say before.
func Written(on Subject, word, name, value string) (Condition, error) {
	return conditionView{Type: word, Name: name, Value: value}.condition(on)
}

// matchView is a match as views show it: in Kuma's form what Kuma can say, and
// every other condition in a list beside it.
type matchView struct {
	Path       *pathView       `json:"path,omitempty"`
	Method     string          `json:"method,omitempty"`
	Query      []queryView     `json:"queryParams,omitempty"`
	Headers    []headerView    `json:"headers,omitempty"`
	Conditions []conditionView `json:"conditions,omitempty"`
}

type pathView struct {
	Value string `json:"value"`
	Type  string `json:"type"`
}

type queryView struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

type headerView struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type conditionView struct {
	On             string   `json:"on"`
	Type           string   `json:"type"`
	Name           string   `json:"name,omitempty"`
	Value          string   `json:"value,omitempty"`
	Values         []string `json:"values,omitempty"`
	From           int64    `json:"from,omitzero"`
	Until          int64    `json:"until,omitzero"` // exclusive
	Not            bool     `json:"not,omitzero"`
	IgnoreCase     bool     `json:"ignoreCase,omitzero"`
	MissingIsEmpty bool     `json:"missingIsEmpty,omitzero"`
}

// MarshalJSON gives the form of the contract:
//
//	{"path": {"value", "type"}, "method", "queryParams": [{"type", "name", "value"}], "headers": [{"type", "name", "value"}]}
//
// with "conditions": [{"on", "type", "name", "value", …}] for what that cannot say.
func (m Match) MarshalJSON() ([]byte, error) {
	var v matchView
	for i := range m.Conditions {
		v.add(&m.Conditions[i])
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // whoever asked for the JSON decides
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (v *matchView) add(c *Condition) {
	word := c.Op.row().word
	switch {
	case c.On == OnPath && c.Op != BytePrefix && v.Path == nil:
		v.Path = &pathView{c.Value, word}
	case c.On == OnMethod && c.Op == Equal && c.Value != "" && v.Method == "":
		v.Method = c.Value
	case c.On == OnHeader && c.Op == Present && c.Mode == Not:
		v.Headers = append(v.Headers, headerView{absent, c.Name, ""})
	case c.On == OnHeader && c.Mode == 0 && slices.Contains([]Op{Equal, BytePrefix, FullMatch, Present}, c.Op):
		v.Headers = append(v.Headers, headerView{word, c.Name, c.Value})
	case c.On == OnQuery && c.Mode == 0 && (c.Op == Equal || c.Op == FullMatch):
		v.Query = append(v.Query, queryView{word, c.Name, c.Value})
	default:
		v.Conditions = append(v.Conditions, conditionView{
			On: subjectWords[c.On], Type: word, Name: c.Name, Value: c.Value, Values: c.Values, From: c.From, Until: c.Until,
			Not: c.Mode&Not != 0, IgnoreCase: c.Mode&IgnoreCase != 0, MissingIsEmpty: c.Mode&MissingIsEmpty != 0,
		})
	}
}

// UnmarshalJSON reads what MarshalJSON gave, for the clients of the API. No
// document is read by it.
func (m *Match) UnmarshalJSON(text []byte) error {
	var v matchView
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	cs, err := v.conditions()
	m.Conditions = cs
	return err
}

func (v *matchView) conditions() (Conditions, error) {
	var list []conditionView
	if v.Path != nil {
		list = append(list, conditionView{On: subjectWords[OnPath], Type: v.Path.Type, Value: v.Path.Value})
	}
	if v.Method != "" {
		list = append(list, conditionView{On: subjectWords[OnMethod], Type: Equal.row().word, Value: v.Method})
	}
	for _, h := range v.Headers {
		list = append(list, conditionView{On: subjectWords[OnHeader], Type: cmp.Or(h.Type, Equal.row().word), Name: h.Name, Value: h.Value})
	}
	for _, q := range v.Query {
		list = append(list, conditionView{On: subjectWords[OnQuery], Type: q.Type, Name: q.Name, Value: q.Value})
	}
	var out Conditions
	for _, c := range append(list, v.Conditions...) {
		on := Subject(max(0, slices.Index(subjectWords[:], c.On)))
		made, err := c.condition(on)
		if err != nil {
			return nil, fmt.Errorf("%s %s%s: %w", c.On, c.Name, c.Value, err)
		}
		out = append(out, made)
	}
	return out, nil
}

// condition is c by the constructor that its type names.
func (c conditionView) condition(on Subject) (Condition, error) {
	mode := c.mode()
	op := opOf(c.Type)
	switch made := op.row().made; {
	case c.Type == absent:
		return Has(on, c.Name, Not)
	case op == 0:
		return Condition{}, fmt.Errorf("nothing is compared as %q", c.Type)
	case made == byHas:
		return Has(on, c.Name, mode)
	case made == byMatchAll:
		return MatchAll(on, c.Name, mode, c.Value)
	case made == byCompare || mode != 0:
		return Compare(on, c.Name, op, mode, c.Value)
	case made == byAmong:
		return Among(on, c.Name, c.Values...)
	default:
		return Within(on, c.Name, c.From, c.Until)
	}
}

func (c conditionView) mode() Modifier {
	var m Modifier
	if c.Not {
		m |= Not
	}
	if c.IgnoreCase {
		m |= IgnoreCase
	}
	if c.MissingIsEmpty {
		m |= MissingIsEmpty
	}
	return m
}

// Schema describes what MarshalJSON writes.
func Schema() jsonschema.Schema { return jsonschema.For[matchView]() }
