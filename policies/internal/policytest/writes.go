package policytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// Writes checks testdata/writes.txtar of the package under test: the items of
// each document there, weakest first, become one conf; the .want of its name is
// that conf, the notes on it, and the Envoy messages that it changes. The first
// word of a name is the protocol.
func Writes(t *testing.T, kind *policies.Kind) {
	const file = "testdata/writes.txtar"
	story, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	told := &txtar.Archive{Comment: story.Comment}
	for _, f := range story.Files {
		if name, ok := strings.CutSuffix(f.Name, ".yaml"); ok {
			protocol, _, _ := strings.Cut(name, "-")
			told.Files = append(told.Files, f, txtar.File{Name: name + ".want", Data: written(t, kind, api.Protocol(protocol), f.Data)})
		}
	}
	cases.Equal(t, file, txtar.Format(told))
}

func written(t *testing.T, kind *policies.Kind, p api.Protocol, text []byte) []byte {
	t.Helper()
	e := Resolve(t, kind, text)
	if e == nil {
		return []byte("nothing\n")
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "conf %s\n", JSON(e.Conf))
	for _, n := range e.Notes() {
		fmt.Fprintf(&out, "%s %s %s: %s\n", n.Severity, n.Origin.Name, n.Field, n.Message)
	}
	place := envoy.Place{Protocol: p}
	before, after := Write(place).Messages(), Write(place, e.Conf).Messages()
	for i, m := range after {
		if i >= len(before) || !proto.Equal(before[i], m) {
			fmt.Fprintf(&out, "%s %s\n", m.ProtoReflect().Descriptor().Name(), compact(t, m))
		}
	}
	if m, ok := e.Conf.(envoy.MetricsTeller); ok {
		text, err := json.Marshal(m.Metrics())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "metrics %s\n", text)
	}
	return out.Bytes()
}

// Resolve folds the to items of all documents of a text, in their order.
func Resolve(t *testing.T, kind *policies.Kind, text []byte) *policies.Effective {
	t.Helper()
	objects, err := decode.Objects(api.NewCatalog(kind.Type()), "", text)
	if api.Refuses(err) {
		t.Fatal(err)
	}
	var layers []merge.Layer
	for _, o := range objects {
		s := o.Spec.(*policies.Spec)
		if w := s.Whole(); w != nil {
			layers = append(layers, merge.Layer{Name: merge.Mesh, Origin: &api.Origin{Ref: o.Ref, Field: policies.Whole}, Leaves: w.Leaves()})
		}
		for i := range s.To {
			at := api.Path("spec.to").Index(i)
			layers = append(layers, merge.Layer{Name: merge.Mesh, Origin: &api.Origin{Ref: o.Ref, Field: at}, Leaves: s.To[i].Leaves()})
		}
	}
	return kind.Resolve(layers)
}

// compact is m as JSON with the spaces that protojson varies taken out.
func compact(t *testing.T, m proto.Message) string {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
