package bolt

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
)

// A record is four bytes of checksum over key and body, then the body as JSON.
// The key is Kind/mesh/namespace/name, as the snapshot orders objects.

type body struct {
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	File     string    `json:"file,omitempty"`
	Line     int       `json:"line,omitempty"`
	Owner    string    `json:"owner,omitempty"`    // missing in records of the first weft
	Default  bool      `json:"default,omitempty"`  // the label weft.io/default, whatever the text says
	Revision uint64    `json:"revision,omitempty"` // missing in records of the first weft
	Text     string    `json:"text"`
	// As is the whole document in place of Text where labels or status are others.
	As string `json:"as,omitempty"`
	// Proof is what the sidecar has proved that brought the object along.
	Proof *api.Proof `json:"proof,omitempty"`
}

// owners are the words of records; of a word that this weft does not know the
// object is the user's, from whom nobody takes anything away. What is stored
// stays readable, so the word of an ephemeral dataplane is the first one.
var owners = map[api.Owner]string{api.User: "user", api.Directory: "directory", api.Ephemeral: "guest"}

// owner is whose the record is. Records without a word are the user's, but for
// Dataplanes of sidecars, which the first weft told by their file.
func (b body) owner(ref api.Ref) api.Owner {
	if b.Owner == "" && ref.Kind == api.KindDataplane && b.File == "bootstrap" {
		return api.Ephemeral
	}
	for owner, word := range owners {
		if word == b.Owner {
			return owner
		}
	}
	return api.User
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errChecksum   = errors.New("its checksum is wrong")
	errUnwritable = errors.New("it cannot be written as a document")
)

func recordKey(r api.Ref) []byte {
	return []byte(r.Kind + "/" + r.Mesh + "/" + r.Namespace + "/" + r.Name)
}

func refOf(key []byte) (api.Ref, error) {
	p := strings.Split(string(key), "/")
	if len(p) != 4 {
		return api.Ref{}, fmt.Errorf("key %q names no object", key)
	}
	return api.Ref{Kind: p[0], Mesh: p[1], Namespace: p[2], Name: p[3]}, nil
}

// recordOf keeps the object's own text, so that every finding still names the
// writer's lines, or where it was one of a list, the text that encode makes.
func recordOf(key []byte, o *api.Object, encode func(*api.Object) ([]byte, error)) ([]byte, error) {
	b := body{o.Created, o.Modified, o.Source.File, o.Source.Line, owners[o.Owner], o.IsDefault(), o.Revision, string(o.Source.Text), "", o.Proof}
	if whole := o.Source.Item != "" || len(o.Source.Text) == 0; whole || o.Adjusted {
		text, err := encode(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", o.Ref, errUnwritable, err)
		}
		if whole {
			b.Text = string(text)
		} else {
			b.As = string(text)
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, checksum(key, text)), text...), nil
}

func checksum(key, text []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, text)
}

// sumOf is the checksum that a record carries, for the sum over all records.
func sumOf(record []byte) uint32 {
	if len(record) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(record)
}

func parse(key, record []byte) (body, error) {
	var b body
	if len(record) < 4 || checksum(key, record[4:]) != sumOf(record) {
		return b, fmt.Errorf("record %q: %w", key, errChecksum)
	}
	if err := json.Unmarshal(record[4:], &b); err != nil {
		return b, fmt.Errorf("record %q: %w", key, err)
	}
	return b, nil
}

// object decodes a record. The key, the times, the owner and the label
// weft.io/default are the store's word; the rest is the document's.
func (b body) object(ref api.Ref, decode func(string, []byte) (*api.Object, error)) (*api.Object, error) {
	text := b.Text
	if b.As != "" {
		text = b.As
	}
	o, err := decode(b.File, []byte(text))
	if err != nil {
		return nil, err
	}
	c := *o.MarkDefault(b.Default)
	c.Ref, c.Created, c.Modified, c.Owner, c.Revision, c.Adjusted = ref, b.Created, b.Modified, b.owner(ref), b.Revision, b.As != ""
	c.Proof = b.Proof
	c.Source = api.Source{File: b.File, Line: b.Line, Text: []byte(b.Text)}
	return &c, nil
}
