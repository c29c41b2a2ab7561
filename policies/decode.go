package policies

import (
	"github.com/weftmesh/weft/api"

	"github.com/weftmesh/weft/api/decode"
)

// envelope is Spec before its confs are understood.
type envelope struct {
	TargetRef *api.TargetRef `json:"targetRef"`
	To        decode.Raw     `json:"to"`
	From      decode.Raw     `json:"from"`
	Rules     decode.Raw     `json:"rules"`
}

// singleEnvelope is the same in the single form.
type singleEnvelope struct {
	envelope
	Default  decode.Raw `json:"default"`
	Override decode.Raw `json:"override"`
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
	if s.Kind.Single {
		s.decodeSingle(raw)
		return
	}
	var e envelope
	raw.Decode(&e)
	s.TargetRef = e.TargetRef
	if s.Kind.Inbound {
		e.To.Breaks("%s is about what comes in; write %s", s.Kind.Name, s.Kind.lists())
	} else {
		var to []rawItem
		e.To.Decode(&to)
		s.To = s.items(to)
	}
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
		s.Rules = s.rules(rules)
	} else {
		e.Rules.Breaks("%s has no inbound side; write to", s.Kind.Name)
	}
	if len(s.To)+len(s.From)+len(s.Rules) > 0 {
		// Beside one that says something an empty list is as good as none.
		s.To, s.From, s.Rules = unlessEmpty(s.To), unlessEmpty(s.From), unlessEmpty(s.Rules)
	}
	s.ReadLeaves()
}

// decodeSingle reads a document in the single form.
func (s *Spec) decodeSingle(raw decode.Raw) {
	var e singleEnvelope
	raw.Decode(&e)
	s.TargetRef = e.TargetRef
	for _, list := range []decode.Raw{e.To, e.From, e.Rules} {
		list.Breaks("%s says one thing for all that the dataplanes call and all that comes in; write it in default", s.Kind.Name)
	}
	s.Default, s.Override = s.confs(e.Default, e.Override)
	s.ReadLeaves()
}

func unlessEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// items are nil where the document has no such list.
func (s *Spec) items(raw []rawItem) []Item {
	if raw == nil {
		return nil
	}
	items := make([]Item, len(raw))
	for i, r := range raw {
		items[i].TargetRef = r.TargetRef
		items[i].Default, items[i].Override = s.confs(r.Default, r.Override)
	}
	return items
}

// rules are nil where the document has no such list.
func (s *Spec) rules(raw []rawRule) []Rule {
	if raw == nil {
		return nil
	}
	rules := make([]Rule, len(raw))
	for i, r := range raw {
		rules[i].Matches = r.Matches
		rules[i].Default, rules[i].Override = s.confs(r.Default, r.Override)
	}
	return rules
}

// confs are what one entry says. Where it has neither, the default is an empty
// conf: Validate then says what is missing.
func (s *Spec) confs(def, override decode.Raw) (Conf, Conf) {
	read := func(raw decode.Raw) Conf {
		c := s.Kind.New()
		raw.Decode(c)
		return c
	}
	switch {
	case !override.IsSet():
		return read(def), nil
	case !def.IsSet():
		return nil, read(override)
	}
	return read(def), read(override)
}
