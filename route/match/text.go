package match

import (
	"fmt"
	"strconv"
	"strings"
)

// Text is the condition for people: "header x-user begins with \"a\"".
func (c *Condition) Text() string {
	row := c.Op.row()
	verb := row.holds
	if c.Mode&Not != 0 {
		verb = row.fails
	}
	text := strings.TrimSuffix(c.subject()+" "+verb+" "+row.operand(c), " ")
	if c.Mode&IgnoreCase != 0 {
		text += ", ignoring case"
	}
	if c.Mode&MissingIsEmpty != 0 {
		text += ", a missing one being empty"
	}
	return text
}

// Short is the condition in few words: "PathPrefix /v1", "GET", "x-user^=a",
// "no x-user", "?page=1"; in those of Text where there are none shorter.
func (c *Condition) Short() string {
	sign := c.Op.row().sign
	switch {
	case c.On == OnHeader && c.Op == Present && c.Mode == Not:
		return "no " + c.Name
	case c.Mode != 0:
	case c.On == OnPath && c.Op != BytePrefix:
		return c.Op.row().word + " " + c.Value
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
		return c.subject() + " " + v + " " + c.Op.row().fails + " " + c.Op.row().operand(c)
	}
	values, row := c.values(r), c.Op.row()
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
	return fmt.Sprintf("%s is %s, %s %s", c.subject(), strings.Join(quoted, " and "), c.clause(), row.operand(c))
}

// clause leads from what a value is to what it had to be.
func (c *Condition) clause() string {
	fails := c.Op.row().fails
	switch {
	case c.Mode&Not != 0:
		return "and the condition is that it " + fails
	case c.Op == Equal:
		return "not"
	}
	return "which " + fails
}

func (c *Condition) subject() string {
	if c.Name == "" {
		return c.On.String()
	}
	return c.On.String() + " " + c.Name
}
