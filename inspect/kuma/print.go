package kuma

import (
	"encoding/json"
	"slices"
	"strconv"
)

// AppendJSON prints the view as encoding/json does. It names objects thousands of times, and of each
// the text is kept.
func (v RulesView) AppendJSON(to []byte) ([]byte, error) {
	p := &printer{out: slices.Grow(to, v.room())}
	p.begin("{", "resource").meta(v.Resource)
	p.member("httpMatches").value(v.HTTPMatches)
	p.member("rules")
	each(p, v.Rules, p.kind)
	p.text("}")
	return p.out, p.err
}

// room is about as much as the text needs: one that grows step by step is copied a dozen times.
func (v RulesView) room() int {
	const each = 1 << 10
	n := 1
	for i := range v.Rules {
		n += len(v.Rules[i].ToRules) + len(v.Rules[i].ToResourceRules)
	}
	return n * each
}

// printer appends to a text.
type printer struct {
	out []byte
	to  *json.Encoder // to the printer
	err error         // the first
}

func (p *printer) text(s string) { p.out = append(p.out, s...) }

// begin is the first member of an object, after what stands before it.
func (p *printer) begin(before, name string) *printer {
	p.text(before + `"` + name + `":`)
	return p
}

func (p *printer) member(name string) *printer { return p.begin(",", name) }

// Write appends what the encoder prints.
func (p *printer) Write(text []byte) (int, error) {
	p.out = append(p.out, text...)
	return len(text), nil
}

// value is what encoding/json prints of v.
func (p *printer) value(v any) {
	if p.to == nil {
		p.to = json.NewEncoder(p)
	}
	if err := p.to.Encode(v); err != nil {
		if p.err == nil {
			p.err = err
		}
		return
	}
	p.out = p.out[:len(p.out)-len("\n")]
}

// each prints a list.
func each[T any](p *printer, list []T, one func(*T)) {
	if list == nil {
		p.text("null")
		return
	}
	p.text("[")
	for i := range list {
		if i > 0 {
			p.text(",")
		}
		one(&list[i])
	}
	p.text("]")
}

func (p *printer) meta(m *Meta) {
	if m == nil || m.text == nil {
		p.value(m)
		return
	}
	p.out = append(p.out, m.text...)
}

func (p *printer) kind(k *KindRules) {
	p.begin("{", "type").value(k.Type)
	p.member("warnings").value(k.Warnings)
	if k.ProxyRule != nil {
		p.member("proxyRule").value(k.ProxyRule)
	}
	p.member("toRules")
	each(p, k.ToRules, p.toRule)
	p.member("fromRules").value(k.FromRules)
	p.member("toResourceRules")
	each(p, k.ToResourceRules, p.resourceRule)
	p.member("inboundRules").value(k.InboundRules)
	p.text("}")
}

func (p *printer) toRule(r *ToRule) {
	p.begin("{", "matchers").value(r.Matchers)
	p.member("conf").value(r.Conf)
	p.member("origin")
	each(p, r.Origin, func(m **Meta) { p.meta(*m) })
	p.text("}")
}

func (p *printer) resourceRule(r *ResourceRule) {
	p.begin("{", "resourceMeta").meta(r.ResourceMeta)
	p.member("resourceSectionName").value(r.ResourceSectionName)
	p.member("conf")
	each(p, r.Conf, func(v *any) { p.value(*v) })
	p.member("origin")
	each(p, r.Origin, func(o *ItemOrigin) {
		p.begin("{", "resourceMeta").meta(o.ResourceMeta)
		p.member("ruleIndex")
		p.out = append(strconv.AppendInt(p.out, int64(o.RuleIndex), 10), '}')
	})
	p.text("}")
}
