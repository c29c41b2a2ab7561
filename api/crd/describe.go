package crd

import (
	_ "embed"
	"encoding/json"

	"github.com/weftmesh/weft/api/jsonschema"
)

//go:generate go run ../../hack/descriptions -root ../.. -to descriptions.json

//go:embed descriptions.json
var descriptions []byte

// explained is what the comments of the code say of the fields of a kind, by path, and what a name means
// wherever it stands.
type explained struct{ fields, shared map[string]string }

func explain(kind string) explained {
	var all map[string]map[string]string
	if err := json.Unmarshal(descriptions, &all); err != nil {
		panic(err) // it is generated
	}
	return explained{all[kind], all[""]}
}

// describe says of a structural schema, and of each member below it, what it is for, where nothing says
// so yet.
func (e explained) describe(s jsonschema.Schema, at, name string) {
	for _, text := range []string{e.fields[at], e.shared[name]} {
		if text != "" && s["description"] == nil {
			s["description"] = text
		}
	}
	e.members(s, at)
}

// members is describe of what is below: the values of a list or map are told of where the list is.
func (e explained) members(s jsonschema.Schema, at string) {
	members, _ := s["properties"].(jsonschema.Schema)
	for name, m := range members {
		e.describe(m.(jsonschema.Schema), at+"."+name, name)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := s[key].(jsonschema.Schema); ok {
			e.members(inner, at)
		}
	}
}
