package jsonschema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

type all struct {
	Text     string            `json:"text"`
	Small    uint16            `json:"small"`
	Big      uint64            `json:"big"`
	Signed   int32             `json:"signed"`
	Share    *float64          `json:"share,omitempty"`
	On       bool              `json:"on"`
	Wait     *api.Duration     `json:"wait"`
	Port     api.IntOrName     `json:"port"`
	Labels   map[string]string `json:"labels"`
	List     []struct{}        `json:"list"`
	Anything any               `json:"anything"`
	Left     string            `json:"-"`
	Unnamed  string
	hidden   string
}

const described = `{"additionalProperties":false,"properties":{"anything":{},"big":{"minimum":0,"type":"integer"},` +
	`"labels":{"additionalProperties":{"type":"string"},"type":"object"},` +
	`"list":{"items":{"additionalProperties":false,"properties":{},"type":"object"},"type":"array"},"on":{"type":"boolean"},` +
	`"port":{"type":["integer","string"]},"share":{"type":"number"},"signed":{"type":"integer"},` +
	`"small":{"maximum":65535,"minimum":0,"type":"integer"},"text":{"type":"string"},` +
	`"wait":{"examples":["10s","1m30s"],"format":"go-duration","type":"string"}},"type":"object"}`

func TestTypesAreDescribed(t *testing.T) {
	t.Parallel()
	_ = all{}.hidden
	got, err := json.Marshal(jsonschema.Of(reflect.TypeFor[all]()))
	if err != nil || string(got) != described {
		t.Errorf("%v\n%s\nwant\n%s", err, got, described)
	}
}

type self struct {
	Next *self `json:"next"`
}

// A type that contains itself is described to a depth, and anything is allowed below.
func TestATypeThatContainsItselfEnds(t *testing.T) {
	t.Parallel()
	depth := 0
	for s := jsonschema.Of(reflect.TypeFor[self]()); len(s) > 0; depth++ {
		s = s["properties"].(jsonschema.Schema)["next"].(jsonschema.Schema)
	}
	if depth != 13 {
		t.Errorf("it is described %d deep", depth)
	}
}

// What is required is not empty, where the words that there are do not say so already; numbers have no length.
func TestWhatIsRequiredIsNotEmpty(t *testing.T) {
	t.Parallel()
	type form struct {
		Name  string   `json:"name" schema:"required"`
		Mode  string   `json:"mode" schema:"required,enum=On|Off"`
		Count int32    `json:"count" schema:"required,min=1"`
		Words []string `json:"words" schema:"required,least=1"`
		Hint  string   `json:"hint"`
	}
	const want = `{"additionalProperties":false,"properties":{"count":{"minimum":1,"type":"integer"},"hint":{"type":"string"},` +
		`"mode":{"enum":["On","Off"],"type":"string"},"name":{"minLength":1,"type":"string"},` +
		`"words":{"items":{"type":"string"},"minItems":1,"type":"array"}},"required":["name","mode","count","words"],"type":"object"}`
	got, err := json.Marshal(jsonschema.Of(reflect.TypeFor[form]()))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
