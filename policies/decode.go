package policies

import (
	"github.com/weftmesh/weft/api"

	"github.com/weftmesh/weft/api/decode"
)

// envelope is Spec before its confs are understood.
type envelope struct {
	TargetRef *api.TargetRef `json:"targetRef"`
	To        []rawItem      `json:"to"`
	From      decode.Raw     `json:"from"`
	Rules     decode.Raw     `json:"rules"`
}

type rawItem struct {
	TargetRef api.TargetRef `json:"targetRef"`
	Default   decode.Raw    `json:"default"`
	Override  decode.Raw    `json:"override"`
}

type rawRule struct {
	Matches  []ClientMatch `json:"matches"`
	Default  decode.Raw    `json:"default"`
	Override decode.Raw    `json:"override"`
}

// DecodeRaw reads the envelope, and each conf as the kind's own type.
func (s *Spec) DecodeRaw(raw decode.Raw) {
	var e envelope
	raw.Decode(&e)
	s.TargetRef, s.To = e.TargetRef, s.items(e.To)
	if s.Kind.From {
		var from []rawItem
		e.From.Decode(&from)
		s.From = s.items(from)
	} else {
		e.From.Breaks("%s has no inbound side; write to", s.Kind.Name)
	}
	if s.Kind.Rules {
		var rules []rawRule
		e.Rules.Decode(&rules)
		for _, r := range rules {
			rule := Rule{Matches: r.Matches}
			rule.Default, rule.Override = s.confs(r.Default, r.Override)
			s.Rules = append(s.Rules, rule)
		}
	} else {
		e.Rules.Breaks("%s has no inbound side; write to", s.Kind.Name)
	}
	s.Seal()
}

func (s *Spec) items(raw []rawItem) []Item {
	var items []Item
	for _, i := range raw {
		item := Item{TargetRef: i.TargetRef}
		item.Default, item.Override = s.confs(i.Default, i.Override)
		items = append(items, item)
	}
	return items
}

// confs are what one entry says. Where it has neither, the default is an empty
// conf: Validate then says what is missing.
func (s *Spec) confs(def, override decode.Raw) (Conf, Conf) {
	switch {
	case !override.IsSet():
		return s.conf(def), nil
	case !def.IsSet():
		return nil, s.conf(override)
	}
	return s.conf(def), s.conf(override)
}

func (s *Spec) conf(raw decode.Raw) Conf {
	c := s.Kind.New()
	raw.Decode(c)
	return c
}
