package skipper

import (
	"fmt"
	"math"
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// cookie is one that answers set. Its domain is that of the host, which only
// Compose knows.
type cookie struct {
	name, value, attributes string
	// in is 1 more than the place of the choice that the request has it so, where it is not
	// set then; 0 sets it always.
	in int
}

// setCookie reads name, value, age in seconds, and change-only.
func (e *effect) setCookie(c *call, httpOnly bool) error {
	k := cookie{name: c.text(0), value: c.text(1)}
	if k.name == "" || strings.ContainsFunc(k.name, notInToken) || strings.ContainsFunc(k.value, notInCookie) {
		return c.wrong("%s=%s is no cookie; write a name of letters, digits and -, and a value without space, quotes, comma, semicolon and backslash", k.name, k.value)
	}
	if len(c.Args) > 2 {
		age := c.Args[2].Number
		if age != math.Trunc(age) || math.Abs(age) > math.MaxInt32 {
			return c.wrong("%v is no age; write a whole number of seconds, 0 to remove the cookie", age)
		}
		k.attributes = fmt.Sprintf("; Max-Age=%d", max(0, int64(age)))
	}
	if httpOnly {
		k.attributes += "; HttpOnly"
	}
	k.attributes += "; Secure"
	if len(c.Args) > 3 {
		if c.text(3) != "change-only" {
			return c.wrong("%q is no word that it knows; write change-only, or leave it out", c.text(3))
		}
		is, err := match.Compare(match.OnCookie, k.name, match.Equal, 0, k.value)
		if err != nil {
			return c.wrong("%v; write another cookie", err)
		}
		if k.in, err = e.choose(c, "cookie "+k.name, match.Conditions{is}); err != nil {
			return err
		}
	}
	e.cookies = append(e.cookies, k)
	return nil
}

func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
}

func notInCookie(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`",;\`, r) }

// filter is what sets the cookie for a host.
func (k *cookie) filter(host string) route.Filter {
	text := k.name + "=" + k.value + "; Path=/"
	if d := cookieDomain(host); d != "" {
		text += "; Domain=" + d
	}
	return headerFilter(route.AddToAnswer, route.Header{Name: "set-cookie", Value: text + k.attributes})
}

// cookieDomain is the host, of one with two dots or more what stands behind the
// first; nothing where the host is any.
func cookieDomain(host string) string {
	if strings.HasPrefix(host, "*") {
		return ""
	}
	if _, behind, ok := strings.Cut(host, "."); ok && strings.Contains(behind, ".") {
		return behind
	}
	return host
}
