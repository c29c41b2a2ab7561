package match

import (
	"fmt"
	"strconv"
	"strings"
)

// phrases say that an operator holds, and that it does not, before its operand.
var phrases = [...]struct{ holds, fails string }{
	Equal:         {"is", "is not"},
	SegmentPrefix: {"is under prefix", "is not under prefix"},
	BytePrefix:    {"begins with", "does not begin with"},
	Suffix:        {"ends with", "does not end with"},
	Contains:      {"contains", "does not contain"},
	FullMatch:     {"matches the expression", "does not match the expression"},
	Present:       {"is present", "is missing"},
	OneOf:         {"is one of", "is none of"},
	InRange:       {"is in", "is not in"},
}

// Text is the condition for people: "header x-user begins with \"a\"".
func (c *Condition) Text() string {
	p := phrases[c.Op]
	verb := p.holds
	if c.Mode&Not != 0 {
		verb = p.fails
	}
	text := strings.TrimSuffix(c.subject()+" "+verb+" "+c.operand(), " ")
	if c.Mode&IgnoreCase != 0 {
		text += ", ignoring case"
	}
	if c.Mode&MissingIsEmpty != 0 {
		text += ", a missing one being empty"
	}
	return text
}

// signs stand between a name and its value in short texts.
var signs = map[Op]string{Equal: "=", BytePrefix: "^=", Suffix: "$=", Contains: "*=", FullMatch: "~"}

// Short is the condition in few words: "PathPrefix /v1", "GET", "x-user^=a",
// "no x-user", "?page=1"; in those of Text where there are none shorter.
func (c *Condition) Short() string {
	sign := signs[c.Op]
	switch {
	case c.On == OnHeader && c.Op == Present && c.Mode == Not:
		return "no " + c.Name
	case c.Mode != 0:
	case c.On == OnPath && c.Op != BytePrefix:
		return opWords[c.Op] + " " + c.Value
	case c.On == OnMethod && c.Op == Equal:
		return c.Value
	case c.On == OnHeader && c.Op == Present:
		return "has " + c.Name
	case c.On == OnHeader && sign != "":
		return c.Name + sign + c.Value
	case c.On == OnQuery && sign != "":
		return "?" + c.Name + sign + c.Value
	}
	return c.Text()
}

// WhyNot says why the condition does not hold of a request, for people; it is
// empty if it does.
func (c *Condition) WhyNot(r *Request) string {
	if c.Holds(r) {
		return ""
	}
	if !c.On.named() {
		v, _ := c.value(r)
		return c.subject() + " " + v + " " + phrases[c.Op].fails + " " + c.operand()
	}
	values := c.values(r)
	switch {
	case len(values) == 0:
		return c.subject() + " is missing"
	case c.Op == Present:
		return c.subject() + " is present"
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return fmt.Sprintf("%s is %s, %s %s", c.subject(), strings.Join(quoted, " and "), c.clause(), c.operand())
}

// clause leads from what a value is to what it had to be.
func (c *Condition) clause() string {
	p := phrases[c.Op]
	switch {
	case c.Mode&Not != 0:
		return "and the condition is that it " + p.fails
	case c.Op == Equal:
		return "not"
	}
	return "which " + p.fails
}

func (c *Condition) subject() string {
	if c.Name == "" {
		return c.On.String()
	}
	return c.On.String() + " " + c.Name
}

// operand is what the subject is compared with. Values are quoted where spaces
// and empty texts may stand.
func (c *Condition) operand() string {
	switch {
	case c.Op == Present:
		return ""
	case c.Op == OneOf:
		return strings.Join(c.Values, ", ")
	case c.Op == InRange:
		return fmt.Sprintf("the range from %d until %d", c.From, c.Until)
	case c.Op == FullMatch || !c.On.named():
		return c.Value
	}
	return strconv.Quote(c.Value)
}
