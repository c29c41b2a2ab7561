package api

import (
	"fmt"
	"slices"
	"strings"
)

// celReserved are names of fields that CEL has as words of its own; Kubernetes escapes them.
var celReserved = map[string]bool{"namespace": true}

// CEL is how a rule calls the field of self.
func CEL(field string) string {
	if celReserved[field] {
		field = "__" + field + "__"
	}
	return "self." + field
}

// Given is the test whether a field of self says something: texts, lists and maps that
// are empty are as good as absent.
func Given(field string) string {
	return fmt.Sprintf("has(%[1]s) && size(%[1]s) > 0", CEL(field))
}

// Tests are the rules of a ref, in the words of ValidateTargetRef: what its kind takes
// and needs. Has tells which fields the ref has.
func (r *RefRules) Tests(has func(field string) bool) []ValidationRule {
	var out []ValidationRule
	for _, m := range refMembers {
		takers := r.kindsWhere(m.may)
		if !has(m.name) || len(takers) == len(r.names()) {
			continue
		}
		test := "!(" + Given(m.name) + ")"
		if len(takers) > 0 {
			test += " || " + kindIn(takers)
		}
		out = append(out, ValidationRule{Test: test, Message: fmt.Sprintf("a ref of this kind takes no %s; %s", m.name, m.hint), Field: "." + m.name})
	}
	if has("group") {
		out = append(out, r.groupTest())
	}
	return append(out, r.selectorTests(has)...)
}

// kindsWhere are the kinds whose fields are so.
func (r *RefRules) kindsWhere(is func(refFields) bool) []string {
	var out []string
	for _, kind := range r.names() {
		if is(r.fields(kind)) {
			out = append(out, kind)
		}
	}
	return out
}

func (r *RefRules) groupTest() ValidationRule {
	test := "!(" + Given("group") + ")"
	for _, t := range r.Routes {
		test += fmt.Sprintf(" || self.kind == '%s' && self.group == '%s'", t.Name, t.Group)
	}
	return ValidationRule{Test: test, Message: "a ref of this kind has no such group; remove it", Field: ".group"}
}

// selectorTests are about how a ref chooses its objects.
func (r *RefRules) selectorTests(has func(field string) bool) []ValidationRule {
	var out []ValidationRule
	needs := func(what string) []string {
		return r.kindsWhere(func(f refFields) bool { return f.needs == what })
	}
	if kinds := needs("name"); len(kinds) > 0 {
		out = append(out, ValidationRule{Test: "!(" + kindIn(kinds) + ") || " + Given("name"), Message: "a ref of this kind needs a name; write it"})
	}
	if kinds := needs("name or labels"); len(kinds) > 0 {
		out = append(out, ValidationRule{Test: "!(" + kindIn(kinds) + ") || " + Given("name") + " || " + Given("labels"), Message: "a ref of this kind needs a name or labels; write one of them"})
	}
	if has("labels") {
		out = append(out, ValidationRule{Test: "!(" + Given("name") + " && " + Given("labels") + ")",
			Message: "name and labels exclude each other; remove one of them"})
	}
	if has("namespace") {
		out = append(out, ValidationRule{Test: "!(" + Given("namespace") + ") || " + Given("name"),
			Message: "a namespace needs a name beside it; write the name or remove the namespace"})
	}
	return out
}

// kindIn is the test whether the kind of self is one of some.
func kindIn(kinds []string) string {
	if len(kinds) == 1 {
		return "self.kind == '" + kinds[0] + "'"
	}
	kinds = slices.Clone(kinds)
	return "self.kind in ['" + strings.Join(kinds, "', '") + "']"
}

// Names are all kinds that may stand there.
func (r *RefRules) Names() []string { return r.names() }
