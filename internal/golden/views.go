package golden

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
)

// kindRules finds what the newer view has for one kind.
func (a *asker) kindRules() (kuma.KindRules, error) {
	v, err := kuma.Rules(a.model.Reader(nil), world.Catalog(), a.plane())
	for _, k := range v.Rules {
		if k.Type == a.word(1) {
			return k, err
		}
	}
	return kuma.KindRules{}, err
}

// subsets writes Kuma's subset rules of one kind.
func (a *asker) subsets() error {
	k, err := a.kindRules()
	if err != nil {
		return err
	}
	for _, w := range k.Warnings {
		fmt.Fprintln(&a.out, "warning:", w)
	}
	for _, r := range k.ToRules {
		var matchers []string
		for _, m := range r.Matchers {
			matchers = append(matchers, fmt.Sprintf("%s%s=%s", map[bool]string{true: "!"}[m.Not], m.Key, m.Value))
		}
		if err := a.conf("{"+strings.Join(matchers, ", ")+"}", r.Conf); err != nil {
			return err
		}
		for _, o := range r.Origin {
			fmt.Fprintf(&a.out, " %s", o.Name)
		}
		fmt.Fprintln(&a.out)
	}
	return nil
}

// resources writes Kuma's resource rules of one kind.
func (a *asker) resources() error {
	k, err := a.kindRules()
	if err != nil {
		return err
	}
	for _, r := range k.ToResourceRules {
		if err := a.conf(r.ResourceMeta.Type+" "+r.ResourceMeta.Name, r.Conf[0]); err != nil {
			return err
		}
		for _, o := range r.Origin {
			fmt.Fprintf(&a.out, " %s[%d]", o.ResourceMeta.Name, o.RuleIndex)
		}
		fmt.Fprintln(&a.out)
	}
	return nil
}

func (a *asker) conf(title string, conf any) error {
	text, err := json.Marshal(conf)
	if err != nil {
		return err
	}
	fmt.Fprintf(&a.out, "%s\n  %s by", title, text)
	return nil
}

// inbounds writes what one kind says about the inbounds, in both of Kuma's forms.
func (a *asker) inbounds() error {
	k, err := a.kindRules()
	if err != nil {
		return err
	}
	for _, in := range k.FromRules {
		for _, r := range in.Rules {
			if err := a.conf(fmt.Sprintf("from %s:%d %d matchers", in.Inbound.Name, in.Inbound.Port, len(r.Matchers)), r.Conf); err != nil {
				return err
			}
			for _, o := range r.Origin {
				fmt.Fprintf(&a.out, " %s", o.Name)
			}
			fmt.Fprintln(&a.out)
		}
	}
	for _, in := range k.InboundRules {
		for _, r := range in.Rules {
			if err := a.conf(fmt.Sprintf("rules %s:%d", in.Inbound.Name, in.Inbound.Port), r.Conf[0]); err != nil {
				return err
			}
			for _, o := range r.Origin {
				fmt.Fprintf(&a.out, " %s[%d]", o.ResourceMeta.Name, o.RuleIndex)
			}
			fmt.Fprintln(&a.out)
		}
	}
	return nil
}

// layout writes the listeners by their KRIs.
func (a *asker) layout() error {
	l, err := kuma.LayoutOf(a.model.Reader(nil), world.Catalog(), a.plane())
	for _, p := range append(l.Inbounds, l.Outbounds...) {
		fmt.Fprintf(&a.out, "%s %d %s %s\n", p.KRI, p.Port, p.Protocol, p.Name)
	}
	return err
}
