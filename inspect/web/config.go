package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/wI2L/jsondiff"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds"
)

// dataplaneConfig is the configuration that a dataplane's Envoy is given, by type URL and
// name (spec/kuma.md 5.2).
type dataplaneConfig struct {
	XDS map[string]map[string]anything `json:"xds"`
	// Diff makes of the configuration without shadow policies this one. Each change is a test
	// of what was, its removal, and an addition, as far as there is any (RFC 6902).
	Diff []patchOperation `json:"diff,omitempty"`
}

// patchOperation is one of a JSON patch.
type patchOperation struct {
	Op    string `json:"op" schema:"enum=test|remove|add"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// dataplaneConfigText is dataplaneConfig as it is written.
type dataplaneConfigText struct {
	XDS  json.RawMessage  `json:"xds"`
	Diff *json.RawMessage `json:"diff,omitempty"`
}

var (
	withShadow = parameter{name: "shadow", about: "Let policies and routes with the label kuma.io/effect: shadow take part", schema: schema{"type": "boolean", "default": false}}
	include    = parameter{name: "include", about: "diff: what shadow policies change, as a JSON patch", schema: oneOf("diff")}
)

// dataplaneConfig answers what the Envoy of a dataplane is given, computed and not fetched.
func (s *server) dataplaneConfig(w http.ResponseWriter, r *http.Request) error {
	shadow, err := flag(r.URL.Query(), withShadow.name)
	if err != nil {
		return err
	}
	wanted := r.URL.Query().Get(include.name)
	if wanted != "" && wanted != "diff" {
		return badField(include.name, strconv.Quote(wanted)+" cannot be included; write diff, or leave it out")
	}
	m, ref, err := s.asked(r, api.KindDataplane)
	if err != nil {
		return err
	}
	now, err := s.configOf(m, ref)
	if err != nil {
		return unknown(err)
	}
	out := dataplaneConfigText{XDS: now}
	if shadow {
		step := plan.WithShadow(m, ref.Mesh)
		if out.XDS, err = s.configOf(s.readerOf(step.After, func() bool { return r.Context().Err() != nil }), ref); err != nil {
			return unknown(err)
		}
	}
	if wanted == "diff" {
		patch, err := patchOf(now, out.XDS)
		if err != nil {
			return err
		}
		out.Diff = &patch
	}
	answer(w, http.StatusOK, out)
	return nil
}

// configOf is the configuration of a dataplane by a model, without secrets.
func (s *server) configOf(m *resolve.Reader, ref api.Ref) (json.RawMessage, error) {
	r, err := inspect.Dataplane(m, ref)
	if err != nil {
		return nil, err
	}
	text, err := xds.Config(s.Renderer.Render(r))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = attach.Redact(&out, bytes.NewReader(text))
	return out.Bytes(), err
}

// patchOf makes b of a. Kuma's clients know no replace.
func patchOf(a, b []byte) (json.RawMessage, error) {
	patch, err := jsondiff.CompareJSON(a, b, jsondiff.Invertible())
	if err != nil {
		return nil, fmt.Errorf("compare configurations: %w", err)
	}
	whole := jsondiff.Patch{}
	for _, o := range patch {
		if o.Type != jsondiff.OperationReplace {
			whole = append(whole, o)
			continue
		}
		whole = append(whole, jsondiff.Operation{Type: jsondiff.OperationRemove, Path: o.Path}, jsondiff.Operation{Type: jsondiff.OperationAdd, Path: o.Path, Value: o.Value})
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("print the patch: %w", err)
	}
	return text, nil
}
