package envoys

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/wI2L/jsondiff"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	xdsresource "github.com/weftmesh/weft/xds/resource"
)

// dataplaneConfig is the configuration that a dataplane's Envoy is given, by type URL and
// name (spec/kuma.md 5.2).
type dataplaneConfig struct {
	XDS map[string]map[string]endpoint.Anything `json:"xds"`
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
	XDS  map[string]map[string]json.RawMessage `json:"xds"`
	Diff *json.RawMessage                      `json:"diff,omitempty"`
}

var (
	withShadow = endpoint.Parameter{Name: "shadow", About: "Let policies and routes with the label kuma.io/effect: shadow take part", Schema: endpoint.Schema{"type": "boolean", "default": false}}
	include    = endpoint.Parameter{Name: "include", About: "diff: what shadow policies change, as a JSON patch", Schema: endpoint.OneOf("diff")}
)

// dataplaneConfig answers what the Envoy of a dataplane is given, computed and not fetched.
func (h *Handlers) dataplaneConfig(w http.ResponseWriter, r *http.Request) error {
	shadow, err := endpoint.Flag(r.URL.Query(), withShadow.Name)
	if err != nil {
		return err
	}
	wanted := r.URL.Query().Get(include.Name)
	if wanted != "" && wanted != "diff" {
		return httpapi.BadField(include.Name, strconv.Quote(wanted)+" cannot be included; write diff, or leave it out")
	}
	m, ref, err := h.ReaderAt(r, api.KindDataplane)
	if err != nil {
		return err
	}
	now, err := h.configOf(m, ref)
	if err != nil {
		return httpapi.Unknown(err)
	}
	shown := now
	if shadow {
		if shown, err = h.configOf(h.ReaderOf(plan.WithShadow(m, ref.Mesh), func() bool { return r.Context().Err() != nil }), ref); err != nil {
			return httpapi.Unknown(err)
		}
	}
	p := printer{known: map[string]json.RawMessage{}, lines: bufio.NewReaderSize(nil, 64<<10)}
	out := dataplaneConfigText{XDS: p.texts(shown)}
	if wanted == "diff" {
		patch, err := patchOf(p.texts(now.beside(shown)), p.texts(shown.beside(now)))
		if err != nil {
			return err
		}
		out.Diff = &patch
	}
	if p.err != nil {
		return p.err
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// resources are the configuration of an Envoy, by type URL and name.
type resources map[string]map[string]*xdsresource.Resource

// configOf is the configuration of a dataplane by a model.
func (h *Handlers) configOf(m *resolve.Reader, ref api.Ref) (resources, error) {
	r, err := inspect.Dataplane(m, ref)
	if err != nil {
		return nil, err
	}
	out := resources{}
	for x := range h.Renderer.Render(r).All() {
		if out[x.Type] == nil {
			out[x.Type] = map[string]*xdsresource.Resource{}
		}
		out[x.Type][x.Name] = x
	}
	return out, nil
}

// beside are the resources that are not the same in other, under all types that there are: what
// differs between two configurations differs between these, at the same paths.
func (c resources) beside(other resources) resources {
	out := resources{}
	for kind, list := range c {
		out[kind] = map[string]*xdsresource.Resource{}
		for name, x := range list {
			if y := other[kind][name]; y == nil || x.Version != y.Version {
				out[kind][name] = x
			}
		}
	}
	return out
}

// printer prints resources without secrets, each once.
type printer struct {
	known map[string]json.RawMessage // by what they are a version of
	lines *bufio.Reader              // of one after the other: it has room that each would need anew
	err   error                      // the first
}

func (p *printer) texts(c resources) map[string]map[string]json.RawMessage {
	out := make(map[string]map[string]json.RawMessage, len(c))
	for kind, list := range c {
		out[kind] = make(map[string]json.RawMessage, len(list))
		for name, x := range list {
			out[kind][name] = p.text(x)
		}
	}
	return out
}

func (p *printer) text(x *xdsresource.Resource) json.RawMessage {
	key := x.Type + " " + x.Name + " " + x.Version
	if text, ok := p.known[key]; ok {
		return text
	}
	lines, err := x.Config()
	p.lines.Reset(bytes.NewReader(lines))
	text := bytes.NewBuffer(make([]byte, 0, len(lines)))
	p.err = cmp.Or(p.err, err, attach.Redact(text, p.lines))
	p.known[key] = text.Bytes()
	return text.Bytes()
}

// patchOf makes b of a. Kuma's clients know no replace.
func patchOf(before, after map[string]map[string]json.RawMessage) (json.RawMessage, error) {
	a, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
	b, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
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
