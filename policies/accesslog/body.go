package accesslog

import (
	"encoding/json"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// deepestBody is how far values of a body may be nested.
const deepestBody = 8

// checkBody reads the body of a record: a text, or an object that is an AnyValue of OTLP.
func checkBody(f *policies.Findings, at api.Path, body any) {
	switch b := body.(type) {
	case nil:
	case string:
		checkText(f, at, b)
	case map[string]any:
		v, err := anyValue(b)
		if err != nil {
			f.Breaks(at, "is no AnyValue of OTLP in JSON, which has one of stringValue, kvlistValue and arrayValue; or write a text")
			return
		}
		checkValue(f, at, v, 0)
	default:
		f.Breaks(at, "is neither a text nor an object; write a text in quotes")
	}
}

func anyValue(object map[string]any) (*commonv1.AnyValue, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	v := new(commonv1.AnyValue)
	return v, protojson.Unmarshal(text, v)
}

// checkValue looks at texts, lists and objects, which are all that Envoy takes.
func checkValue(f *policies.Findings, at api.Path, v *commonv1.AnyValue, depth int) {
	if depth > deepestBody {
		f.Breaks(at, "is nested too deeply; at most %d levels are possible", deepestBody)
		return
	}
	switch x := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		checkText(f, at.Field("stringValue"), x.StringValue)
	case *commonv1.AnyValue_ArrayValue:
		for i, v := range x.ArrayValue.GetValues() {
			checkValue(f, at.Field("arrayValue").Field("values").Index(i), v, depth+1)
		}
	case *commonv1.AnyValue_KvlistValue:
		for i, kv := range x.KvlistValue.GetValues() {
			at := at.Field("kvlistValue").Field("values").Index(i)
			if kv.GetKey() == "" {
				f.Breaks(at.Field("key"), "is missing; write the name of the member")
			}
			checkValue(f, at.Field("value"), kv.GetValue(), depth+1)
		}
	default:
		f.Breaks(at, "has none of stringValue, kvlistValue and arrayValue, which are all that Envoy takes; write one of them")
	}
}
