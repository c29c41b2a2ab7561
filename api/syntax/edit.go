package syntax

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
)

// MaxAliased is how many values of a document may stand behind aliases.
const MaxAliased = 100_000

// Edit is the document of s, as YAML, with what differs between before and after: two
// JSON texts, the document as a program read it and as it is to be. All else stays as it
// is written: fields that the program does not know, their order, and comments. Items of
// lists are followed by their name where each has one, else by their place. Equal texts
// change nothing.
func Edit(s api.Source, before, after []byte) ([]byte, error) {
	d := parseAgain(s)
	if d.Root == nil {
		return nil, fmt.Errorf("change %s: the text is no document", d.PositionOf(&yaml.Node{Line: 1, Column: 1}))
	}
	was, err := oneJSON(before)
	if err != nil {
		return nil, err
	}
	is, err := oneJSON(after)
	if err != nil {
		return nil, err
	}
	if same(was, is) {
		return s.Text, nil
	}
	room := MaxAliased
	root, ok := writtenOut(d.Root, &room)
	if !ok {
		return nil, fmt.Errorf("change %s: too many aliases; write it out", d.PositionOf(d.Root))
	}
	if LooksLikeJSON(s.Text) {
		Block(root)
	}
	edit(root, was, is)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("print YAML: %w", err)
	}
	return out.Bytes(), enc.Close()
}

func oneJSON(text []byte) (*yaml.Node, error) {
	docs, wrong := SplitJSON(api.Source{Text: text, Line: 1})
	if wrong != nil {
		return nil, wrong
	}
	return docs[0].Root, nil
}

// same reports whether two values of JSON are equal. Maps are equal in any order.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(a.Content); i += 2 {
			if other := indexOf(b, a.Content[i].Value); other < 0 || !same(a.Content[i+1], b.Content[other+1]) {
				return false
			}
		}
		return true
	}
	return slices.EqualFunc(a.Content, b.Content, same)
}

// indexOf is the index of a key among the content of a map, -1 where it is not there.
func indexOf(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// edit makes of n, which says at least what was says, what is says beyond that.
func edit(n, was, is *yaml.Node) {
	if same(was, is) {
		return
	}
	switch {
	case n.Kind == yaml.MappingNode && was.Kind == n.Kind && is.Kind == n.Kind:
		editMap(n, was, is)
	case n.Kind == yaml.SequenceNode && was.Kind == n.Kind && is.Kind == n.Kind:
		editList(n, was, is)
	default:
		replace(n, is)
	}
}

// replace puts a value in the place of another, whose comments stay.
func replace(n, is *yaml.Node) {
	head, line, foot := n.HeadComment, n.LineComment, n.FootComment
	*n = *copied(is)
	Block(n)
	n.HeadComment, n.LineComment, n.FootComment = head, line, foot
}

func editMap(n, was, is *yaml.Node) {
	for i := 0; i+1 < len(is.Content); i += 2 {
		key, value := is.Content[i], is.Content[i+1]
		before, mine := indexOf(was, key.Value), indexOf(n, key.Value)
		switch {
		case before >= 0 && mine >= 0:
			edit(n.Content[mine+1], was.Content[before+1], value)
		case before >= 0 && same(was.Content[before+1], value):
			// the program says so of what is not written
		case mine >= 0: // the program knew nothing of it, as of null
			replace(n.Content[mine+1], value)
		default:
			k, v := copied(key), copied(value)
			Block(k)
			Block(v)
			n.Content = append(n.Content, k, v)
			n.Style &^= yaml.FlowStyle
		}
	}
	for i := 0; i+1 < len(was.Content); i += 2 {
		key := was.Content[i].Value
		if mine := indexOf(n, key); mine >= 0 && indexOf(is, key) < 0 {
			n.Content = slices.Delete(n.Content, mine, mine+2)
		}
	}
}

// writtenOut is a node with a copy of its own wherever an alias stands, or a merge (<<):
// a change must not reach all that shares an anchor. It is false where the copies have
// more nodes than there is room for.
func writtenOut(n *yaml.Node, room *int) (*yaml.Node, bool) {
	if *room--; *room < 0 {
		return nil, false
	}
	if n.Kind == yaml.AliasNode {
		return writtenOut(n.Alias, room)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	var merged []*yaml.Node
	for i, c := range n.Content {
		c, ok := writtenOut(c, room)
		if !ok {
			return nil, false
		}
		if key := i &^ 1; n.Kind == yaml.MappingNode && n.Content[key].Tag == "!!merge" {
			if i != key {
				merged = append(merged, c)
			}
			continue
		}
		out.Content = append(out.Content, c)
	}
	for _, m := range merged {
		merge(&out, m)
	}
	return &out, true
}

// merge adds the entries of a map, or of each map of a list, that n does not have.
func merge(n, from *yaml.Node) {
	if from.Kind == yaml.SequenceNode {
		for _, one := range from.Content {
			merge(n, one)
		}
		return
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		if indexOf(n, from.Content[i].Value) < 0 {
			n.Content = append(n.Content, from.Content[i], from.Content[i+1])
		}
	}
}

// editList follows the items of a list to where they stand now.
func editList(n, was, is *yaml.Node) {
	used := make([]bool, len(n.Content))
	var out []*yaml.Node
	for i, item := range is.Content {
		at := i
		if named(was) && named(is) {
			at = slices.IndexFunc(was.Content, func(w *yaml.Node) bool { return ScalarOf(Member(w, "name")) == ScalarOf(Member(item, "name")) })
		}
		if at >= 0 && at < len(n.Content) && at < len(was.Content) && !used[at] {
			used[at] = true
			edit(n.Content[at], was.Content[at], item)
			out = append(out, n.Content[at])
			continue
		}
		item = copied(item)
		Block(item)
		out = append(out, item)
	}
	n.Content = out
	n.Style &^= yaml.FlowStyle
}

// named reports whether each item of a list is a map with a name.
func named(list *yaml.Node) bool {
	return !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return ScalarOf(Member(n, "name")) == "" })
}

// copied is a node of its own that says the same.
func copied(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = copied(c)
	}
	return &out
}

// yamlWords are texts that older readers of YAML take for truth values.
var yamlWords = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true}

// Block takes the style of JSON off n: quotes stay where the text needs them.
func Block(n *yaml.Node) {
	n.Style = 0
	if n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	if n.Tag == "!!str" && (yamlWords[strings.ToLower(n.Value)] || n.Value == "<<" || strings.ContainsFunc(n.Value, unprintable)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	if n.Kind == yaml.ScalarNode && n.Tag != "!!str" {
		n.Tag = "" // plain: what it is can be seen
	}
	for _, c := range n.Content {
		Block(c)
	}
}

// unprintable is true of what YAML can only hold escaped, or only in block scalars.
func unprintable(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0xa0 || r >= 0x2028 && r <= 0x2029 || r >= 0xd800
}
