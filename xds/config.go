package xds

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
)

// Config is resources as JSON by type and name, as spec/kuma.md 5.2 has the configuration of a
// dataplane, in lines. Of secrets it has the names alone.
func Config(s *State) ([]byte, error) {
	out := map[string]map[string]any{}
	for _, list := range [][]*Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints} {
		for _, r := range list {
			if out[r.Type] == nil {
				out[r.Type] = map[string]any{}
			}
			m, err := r.Any.UnmarshalNew()
			if err != nil {
				return nil, fmt.Errorf("print %s: %w", r.Name, err)
			}
			text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
			if err != nil {
				return nil, fmt.Errorf("print %s: %w", r.Name, err)
			}
			out[r.Type][r.Name] = json.RawMessage(text)
		}
	}
	for _, r := range s.Secrets {
		if out[r.Type] == nil {
			out[r.Type] = map[string]any{}
		}
		out[r.Type][r.Name] = map[string]string{"name": r.Name}
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, fmt.Errorf("print resources: %w", err)
	}
	return text, nil
}
