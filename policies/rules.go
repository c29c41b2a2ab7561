package policies

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
)

// The CEL rules of policies: each says what Spec.Validate and its refs say, as far as
// one document says it by itself (spec/kubernetes.md 1.7).

// formRules are about which of to, from and rules are there, and what stands beside a
// ref to a route. Their twins are form, noInbound and refs.
func (k *Kind) formRules(c *api.Catalog) []api.ValidationRule {
	var lists []string
	if !k.Inbound {
		lists = append(lists, api.Given("to"))
	}
	if k.From {
		lists = append(lists, api.Given("from"))
	}
	if k.Rules {
		lists = append(lists, api.Given("rules"))
	}
	rules := []api.ValidationRule{{Test: strings.Join(lists, " || "), Message: "says nothing; add " + k.lists()}}
	alone := func(a, b, field, message string) {
		rules = append(rules, api.ValidationRule{Test: "!(" + api.Given(a) + " && " + api.Given(b) + ")", Message: message, Field: field})
	}
	if k.Rules && k.From && !k.FromBesideRules {
		alone("rules", "from", ".from", "cannot stand beside rules, which replace it; move its items to rules")
	}
	if k.Rules && k.RulesAlone {
		alone("rules", "to", ".to", "cannot stand beside rules; write two policies, one with to and one with rules")
	}
	onRoute := "has(self.targetRef) && " + isRoute(c, "self.targetRef")
	if k.Inbound {
		if k.RulesOnRoutes {
			rules = append(rules, api.ValidationRule{Test: "!(" + onRoute + ") || !has(self.from)", Message: rulesOnRoutes, Field: ".from"})
		}
		return rules
	}
	if len(lists) > 1 {
		rules = append(rules, api.ValidationRule{Test: "!(" + onRoute + ") || !(" + strings.Join(lists[1:], " || ") + ")",
			Message: "a route has no inbound side; write to, or target dataplanes in place of the route"})
	}
	rules = append(rules, api.ValidationRule{Test: "!(" + onRoute + ") || !has(self.to) || !self.to.exists(i, " + isRoute(c, "i.targetRef") + ")",
		Message: "an item of a policy of a route names no route; write Mesh, or one MeshService that the route has", Field: ".to"})
	for _, l := range k.notOnRoutes() {
		rules = append(rules, api.ValidationRule{Test: fmt.Sprintf("!(%s) || !has(self.to) || !self.to.exists(i, %s)", onRoute, l.given("i")), Message: l.why(), Field: ".to"})
	}
	return rules
}

// singleRules are about a document in the single form that targets a route. Their twin is refs; that it
// says something at all is for its schema.
func (k *Kind) singleRules(c *api.Catalog) []api.ValidationRule {
	if !k.SingleOnRoutes {
		return nil
	}
	var rules []api.ValidationRule
	for _, l := range k.notOnRoutes() {
		rules = append(rules, api.ValidationRule{
			Test: fmt.Sprintf("!(has(self.targetRef) && %s) || !(%s)", isRoute(c, "self.targetRef"), l.given("self")), Message: l.why(),
		})
	}
	return rules
}

// routeOnlyRules are about the fields of an item, which is called item, of a ref to a
// route. Their twin is routeOnly.
func (k *Kind) routeOnlyRules(c *api.Catalog, item string) []api.ValidationRule {
	var rules []api.ValidationRule
	for _, l := range k.notOnRoutes() {
		rules = append(rules, api.ValidationRule{Test: fmt.Sprintf("!(%s) || !(%s)", isRoute(c, item+".targetRef"), l.given(item)), Message: l.why()})
	}
	return rules
}

// isRoute is the test whether a ref names a route that policies may target.
func isRoute(c *api.Catalog, ref string) string {
	var names []string
	for _, t := range c.Routes() {
		names = append(names, "'"+t.Name+"'")
	}
	return ref + ".kind in [" + strings.Join(names, ", ") + "]"
}

// notOnRoutes are the leaves that no route has.
func (k *Kind) notOnRoutes() []SchemaLeaf {
	var out []SchemaLeaf
	for _, l := range k.Schema.Leaves {
		if l.Scope != OnRoute {
			out = append(out, l)
		}
	}
	return out
}

// why says why the leaf cannot be set for a route.
func (l SchemaLeaf) why() string {
	return l.Path + " configures " + things[l.Scope] + ", so it cannot be set for one route; move it to a policy that targets Mesh or a service"
}

// given is the test whether the default or the override of an item sets the leaf.
func (l SchemaLeaf) given(item string) string {
	var either []string
	for _, conf := range []string{"default", "override"} {
		at, all := item+"."+conf, []string{}
		for _, name := range append([]string{""}, strings.Split(l.Path, ".")...) {
			if name != "" {
				at += "." + name
			}
			all = append(all, "has("+at+")")
		}
		either = append(either, strings.Join(all, " && "))
	}
	return strings.Join(either, " || ")
}

// Rules of a match of callers; its twin is Spec.rule.
func (ClientMatch) Rules() []api.ValidationRule {
	return []api.ValidationRule{{Test: "has(self.spiffeID) || has(self.sni)", Message: "matches nothing; set spiffeID or sni"}}
}
