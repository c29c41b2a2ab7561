package decode

import (
	"encoding"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
)

// The bounds of one document beside its size.
const (
	maxMistakes = 100 // reported in one document

)

// decoder reads the nodes of one document into typed values, strictly. It is
// the only place that uses reflection on documents.
type decoder struct {
	*syntax.Document
	ref     api.Ref
	errs    []*api.Violation
	lenient bool // status: others wrote it, so what is unknown is left out
	warns   bool // of unknown fields
	valid   bool // an API server has validated the document: weft lacks what is unknown
	lacks   map[string]bool
	narrow  []string // see api.Type
	silent  bool     // about them
	secret  bool     // values may be secrets, so messages do not quote them
	items   int      // that a list has at most, where its field says nothing; 0 outside specs
	length  int      // of texts, the same
	inAlias int
	aliased int
	depth   int
	below   reflect.Type // what spec holds, while the envelope around it is read; else nil
}

// report adds a violation that stands at node.
func (d *decoder) report(node *yaml.Node, v *api.Violation) {
	if d.lenient {
		return
	}
	if len(d.errs) == maxMistakes {
		v = v.Field.Breaks("there are more than %d mistakes; correct those above first", maxMistakes)
	}
	if len(d.errs) > maxMistakes {
		return
	}
	v.Position, v.Object = d.PositionOf(node), d.ref
	d.errs = append(d.errs, v)
}

// value reads n into v, which may decode itself. mark is what positions name.
func (d *decoder) value(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		d.inAlias++
		defer func() { d.inAlias-- }()
		n = n.Alias
	}
	if d.inAlias > 0 {
		d.aliased++
	}
	if d.depth > syntax.MaxDepth || d.aliased > syntax.MaxAliased {
		d.report(mark, at.Breaks("nested too deep or too many aliases; write it out, or split the document"))
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	if n.Tag == "!!null" && n.Kind == yaml.ScalarNode {
		return
	}
	if v.Type() == reflect.TypeFor[Raw]() {
		v.Set(reflect.ValueOf(Raw{d, n, mark, at, d.inAlias}))
		return
	}
	switch self := v.Addr().Interface().(type) {
	case SelfDecoder:
		self.DecodeRaw(Raw{d, n, mark, at, d.inAlias})
	case *api.IntOrName: // a noun, which does not know how documents are read
		intOrName(Raw{d, n, mark, at, d.inAlias}, self)
	default:
		d.plain(n, mark, at, v)
	}
}

// plain reads n into v by v's kind.
func (d *decoder) plain(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	if into, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, mark, at, into)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, mark, at, v.Elem())
	case reflect.Struct:
		d.object(n, mark, at, v)
	case reflect.Slice:
		d.list(n, mark, at, v)
	case reflect.Map:
		d.dict(n, mark, at, v)
	case reflect.Interface:
		d.free(n, mark, at, v)
	default:
		d.scalar(n, mark, at, v)
	}
}

// isMaterial reports whether what a type holds may be secret.
func isMaterial(t reflect.Type) bool {
	return t == reflect.TypeFor[api.DataSource]() || t == reflect.TypeFor[api.Secret]()
}

// object reads a map of known fields.
func (d *decoder) object(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	if isMaterial(v.Type()) && !d.secret { // what is wrong is shown to many
		d.secret = true
		defer func() { d.secret = false }()
	}
	if n.Kind != yaml.MappingNode {
		d.report(mark, at.Breaks("%s stands where fields belong; write a map", d.describe(n)))
		return
	}
	fields := d.fields(v.Type())
	for _, m := range d.members(n, at) {
		i := 0
		for i < len(fields) && fields[i].name != m.key.Value {
			i++
		}
		if i == len(fields) || !isText(m.key) {
			d.unknown(m.key, at, fields)
			continue
		}
		f := v.FieldByIndex(fields[i].index)
		d.bounds(m.value, syntax.Beside(m.key, m.value), at.Field(fields[i].name), fields[i].most)
		d.value(m.value, syntax.Beside(m.key, m.value), at.Field(fields[i].name), f)
		if k := f.Kind(); (k == reflect.Slice || k == reflect.Map) && f.Len() == 0 && !fields[i].keepEmpty {
			f.SetZero()
		}
	}
}

// belongsBelow reports whether a field that stands beside spec is one of spec.
func (d *decoder) belongsBelow(name string) bool {
	return d.below != nil && slices.ContainsFunc(d.fields(d.below), func(f field) bool { return f.name == name })
}

func (d *decoder) unknown(key *yaml.Node, at api.Path, fields []field) {
	if d.silent {
		return
	}
	if key.Kind != yaml.ScalarNode {
		d.report(key, at.Breaks("%s stands where the name of a field belongs; write a name", describe(key)))
		return
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	v := at.Field(redact.Clip(key.Value)).Breaks("unknown field; %s", nearest.DidYouMean(key.Value, names, "the fields here are"))
	if at == "" && d.belongsBelow(key.Value) {
		v.Message = "unknown field; it belongs below spec, so indent it"
	}
	v.Code = "UnknownField"
	switch {
	case d.warns && d.valid && !d.narrows(at):
		d.lack(key, v)
		return
	case d.warns && !d.valid:
		v.Severity, v.Message = api.Warning, "unknown field, without effect; "+nearest.DidYouMean(key.Value, names, "the fields here are")
	}
	d.report(key, v)
}

// narrows reports whether what stands at a path lets the object take or allow less.
func (d *decoder) narrows(at api.Path) bool {
	parts := strings.FieldsFunc(item.ReplaceAllString(string(at), ""), func(r rune) bool { return r == '.' })
	return slices.ContainsFunc(d.narrow, func(name string) bool { return slices.Contains(parts, name) })
}

// item is the part of a path that says which one of a list.
var item = regexp.MustCompile(`\[\d+\]`)

// lack warns of a field that weft lacks in a document that an API server has validated:
// once for all items of a list, and so that there is room for
// what is wrong.
func (d *decoder) lack(key *yaml.Node, v *api.Violation) {
	name := item.ReplaceAllString(string(v.Field), "")
	if d.lacks[name] || len(d.lacks) == maxMistakes/2 {
		return
	}
	if d.lacks == nil {
		d.lacks = map[string]bool{}
	}
	d.lacks[name] = true
	v.Severity, v.Message = api.Warning, "this version of weft does not know the field, and does without it; look for a later one"
	d.report(key, v)
}

// entry is one key of a map with its value.
type entry struct{ key, value *yaml.Node }

// members are the entries of a map in their order, those of merge keys (<<)
// included; a key that is given twice is reported.
func (d *decoder) members(n *yaml.Node, at api.Path) []entry {
	out := make([]entry, 0, len(n.Content)/2)
	var merged []entry
	var seen keys
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			merged = append(merged, d.merge(k, v, at)...)
			continue
		}
		k = syntax.Target(k)
		if first := seen.find(out, k); first != nil {
			v := at.Field(redact.Clip(k.Value)).Breaks("given twice, first on line %d; remove one of them", d.PositionOf(first).Line)
			v.Code = "DuplicateField"
			d.report(k, v)
			continue
		}
		out = append(out, entry{k, v})
	}
	for _, m := range merged {
		if seen.find(out, m.key) == nil {
			out = append(out, m)
		}
	}
	return out
}

// merge is what a merge key brings.
func (d *decoder) merge(key, v *yaml.Node, at api.Path) []entry {
	var out []entry
	maps := []*yaml.Node{v}
	if t := syntax.Target(v); t.Kind == yaml.SequenceNode {
		maps = t.Content
	}
	for _, m := range maps {
		m = syntax.Target(m)
		if d.aliased += 1 + len(m.Content)/2; m.Kind != yaml.MappingNode || d.aliased > syntax.MaxAliased || d.depth > syntax.MaxDepth {
			d.report(key, at.Breaks("<< takes maps, and not too many of them; write the fields out"))
			return out
		}
		d.depth++
		out = append(out, d.members(m, at)...)
		d.depth--
	}
	return out
}

// keys finds keys among entries: short lists are scanned, long ones get a table.
type keys struct {
	table map[string]*yaml.Node
	done  int
}

func (t *keys) find(entries []entry, k *yaml.Node) *yaml.Node {
	if len(entries) < 16 {
		for _, e := range entries {
			if e.key.Value == k.Value {
				return e.key
			}
		}
		return nil
	}
	if t.table == nil {
		t.table = map[string]*yaml.Node{}
	}
	for ; t.done < len(entries); t.done++ {
		t.table[entries[t.done].key.Value] = entries[t.done].key
	}
	return t.table[k.Value]
}
