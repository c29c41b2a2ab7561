package match

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weftmesh/weft/route/match/re2"
)

// TestOperatorsAreWhole: each row has its functions, and a name and a word of its own.
func TestOperatorsAreWhole(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for o := Equal; o < endOfOps; o++ {
		row := o.row()
		if row.name == "" || row.word == "" || row.holds == "" || row.fails == "" || row.made == 0 || len(row.on) == 0 || names[row.name] {
			t.Errorf("the row of %d, %q, lacks something or stands twice", o, row.name)
		}
		names[row.name] = true
		if opOf(row.word) != o {
			t.Errorf("%q is the word of %s and of %s", row.word, o, opOf(row.word))
		}
		for _, v := range []reflect.Value{reflect.ValueOf(*row), reflect.ValueOf(row.covers)} {
			for i := range v.NumField() {
				if v.Field(i).Kind() == reflect.Func && v.Field(i).IsNil() {
					t.Errorf("%s has no function %s", o, v.Type().Field(i).Name)
				}
			}
		}
	}
	if opOf("") != 0 || opOf(absent) != 0 {
		t.Error("there is an operator without a word, or one of the word for what is missing")
	}
}

// operands are few, so that conditions and values often meet.
var operands = []string{"a", "A", "ab", "Ab", "abc", "b", "/", "/a", "/a/", "/a/b", "/ab", "/x", "5", "GET", ""}

// conditions are those of every legal cell with every operand, made as the row of the
// operator says.
func conditions() Conditions {
	var out Conditions
	add := func(c Condition, err error) {
		if err == nil && !slices.ContainsFunc(out, c.Equal) {
			out = append(out, c)
		}
	}
	for cell := range Cells {
		name := ""
		if cell.On.named() {
			name = "x"
		}
		for i, v := range operands {
			switch cell.Op.row().made {
			case byCompare:
				add(Compare(cell.On, name, cell.Op, cell.Mode, v))
			case byMatchAll:
				for _, behind := range []string{"", "b?", ".*", "|5", "(?i:A)"} {
					add(MatchAll(cell.On, name, cell.Mode, v+behind))
				}
			case byHas:
				add(Has(cell.On, name, cell.Mode))
			case byAmong:
				add(Among(cell.On, name, v, "GET"))
				add(Among(cell.On, name, v, "GET", "PUT"))
			case byWithin:
				add(Within(cell.On, name, int64(i%5), int64(i)))
			}
		}
	}
	return out
}

// tried are values that tell conditions apart: samples of this one, and the operands.
func (c *Condition) tried() []string {
	samples := c.Op.row().samples(c)
	return slices.DeleteFunc(append(samples[:len(samples):len(samples)], operands...), func(v string) bool { return c.On == OnPath && !strings.HasPrefix(v, "/") })
}

// TestOperatorsAgree: what the functions of a row say of the values of a condition is what
// fits says of each.
func TestOperatorsAgree(t *testing.T) {
	t.Parallel()
	for _, c := range conditions() {
		row := c.Op.row()
		if samples := row.samples(&c); c.Op != FullMatch && !slices.ContainsFunc(samples, c.fits) {
			t.Errorf("%s: no sample fits of %q", c.Text(), samples)
		}
		e, ok := c.Expression()
		re := regexp.MustCompile(`\A(?s:` + re2.FoldASCII(e) + `)\z`)
		only := row.only(&c)
		begin, segments := row.begin(&c)
		replaced, replaces := row.replaced(&c)
		for _, v := range c.tried() {
			fits := c.fits(v)
			if ok && re.MatchString(Bytewise(v)) != fits {
				t.Errorf("%s: %q fits is %v, and the expression %s says otherwise", c.Text(), v, fits, e)
			}
			same := func(o string) bool { return foldedFor(&c, o) == foldedFor(&c, v) }
			if only != nil && slices.ContainsFunc(only, same) != fits {
				t.Errorf("%s: %q fits is %v, and only %q do", c.Text(), v, fits, only)
			}
			if c.On != OnPath || !fits {
				continue
			}
			if rest, ok := strings.CutPrefix(v, begin); !ok || segments && rest != "" && rest[0] != '/' {
				t.Errorf("%s: %q fits, and does not begin with %q", c.Text(), v, begin)
			}
			if replaces && !strings.HasPrefix(v, replaced) {
				t.Errorf("%s: %q fits, and has no %q to replace", c.Text(), v, replaced)
			}
		}
	}
}

// TestOperatorsCover: of the values of which a condition is said to hold all, it does.
func TestOperatorsCover(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range conditions() {
		covers, want := &c.Op.row().covers, foldedFor(&c, c.Value)
		holds := func(kind string, said bool, values ...string) {
			covered[kind] = covered[kind] || said
			if said && slices.ContainsFunc(values, func(v string) bool { return !c.fits(v) }) {
				t.Errorf("%s is said to hold of all %s, and these are %q", c.Text(), kind, values)
			}
		}
		for i, text := range operands {
			folded := foldedFor(&c, text)
			for _, by := range operands {
				holds("values that begin with a text", covers.begin(folded, want), text, text+by)
				holds("values that end with it", covers.end(folded, want), text, by+text)
				holds("values that contain it", covers.part(folded, want), text, by+text, text+by, by+text+by)
			}
			from := int64(i)
			holds("numbers of a range", covers.numbers(&c, from, from+2), strconv.FormatInt(from, 10), strconv.FormatInt(from+1, 10))
			if at := strings.TrimSuffix(text, "/"); c.On == OnPath && strings.HasPrefix(text, "/") {
				holds("paths under one", covers.segments(folded, want), cmp.Or(at, "/"), at+"/", at+"/x")
			}
		}
	}
	for kind, ever := range covered {
		if !ever {
			t.Errorf("no operator covers %s", kind)
		}
	}
}

// TestOperatorsImply: what a condition fits that implies another one, fits that one too.
func TestOperatorsImply(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(conditions(), func(c Condition) bool { return c.Mode&^IgnoreCase != 0 || c.Op == Present })
	implied := map[Op]bool{Present: true} // of which Implies knows by itself
	for _, d := range all {
		values := slices.DeleteFunc(d.tried(), func(v string) bool { return !d.fits(v) })
		for _, c := range all {
			if c.On != d.On || d.Mode == IgnoreCase && c.Mode == 0 || c.same(&d) || !c.impliesValue(&d) {
				continue
			}
			implied[d.Op] = true
			if i := slices.IndexFunc(values, func(v string) bool { return !c.fits(v) }); i >= 0 {
				t.Errorf("%s is said to imply %s, and %q", d.Text(), c.Text(), values[i])
			}
		}
	}
	for o := Equal; o < endOfOps; o++ {
		if !implied[o] {
			t.Errorf("nothing was implied by %s", o)
		}
	}
}
