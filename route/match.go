package route

import "fmt"

// Conditions are what m asks, all of which have to hold: the one meaning that
// the simulator and explanations go by. An error says which part can be asked
// of no request; no request then matches.
func (m *Match) Conditions() (Conditions, error) {
	out := make(Conditions, 0, 2+len(m.Headers)+len(m.Query))
	add := func(c Condition, err error) error {
		out = append(out, c)
		return err
	}
	if m.Path != nil {
		if err := add(m.Path.condition()); err != nil {
			return nil, fmt.Errorf("path %s: %w", m.Path.Value, err)
		}
	}
	if m.Method != "" {
		if err := add(Compare(OnMethod, "", Equal, 0, m.Method)); err != nil {
			return nil, fmt.Errorf("method %s: %w", m.Method, err)
		}
	}
	for i := range m.Headers {
		if err := add(m.Headers[i].condition()); err != nil {
			return nil, fmt.Errorf("header %s: %w", m.Headers[i].Name, err)
		}
	}
	for i := range m.Query {
		if err := add(m.Query[i].condition()); err != nil {
			return nil, fmt.Errorf("query parameter %s: %w", m.Query[i].Name, err)
		}
	}
	return out, nil
}

func (p *PathMatch) condition() (Condition, error) {
	switch p.Type {
	case Exact:
		return Compare(OnPath, "", Equal, 0, p.Value)
	case Prefix:
		return Compare(OnPath, "", SegmentPrefix, 0, p.Value)
	case Regex:
		return MatchAll(OnPath, "", 0, p.Value)
	}
	return Condition{}, fmt.Errorf("no path is compared as %q", p.Type)
}

func (h *HeaderMatch) condition() (Condition, error) {
	switch h.Type {
	case "", string(Exact):
		return Compare(OnHeader, h.Name, Equal, 0, h.Value)
	case "Prefix":
		return Compare(OnHeader, h.Name, BytePrefix, 0, h.Value)
	case string(Regex):
		return MatchAll(OnHeader, h.Name, 0, h.Value)
	case "Present":
		return Has(OnHeader, h.Name, 0)
	case "Absent":
		return Has(OnHeader, h.Name, Not)
	}
	return Condition{}, fmt.Errorf("no header is compared as %q", h.Type)
}

func (q *QueryMatch) condition() (Condition, error) {
	switch q.Type {
	case string(Exact):
		return Compare(OnQuery, q.Name, Equal, 0, q.Value)
	case string(Regex):
		return MatchAll(OnQuery, q.Name, 0, q.Value)
	}
	return Condition{}, fmt.Errorf("no query parameter is compared as %q", q.Type)
}
