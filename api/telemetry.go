package api

// Telemetry says what is counted and told of the requests of a mesh. What is not written holds as by
// default: all sidecars count, and no path of a request leaves its host but in a tap (docs/traffic.md).
type Telemetry struct {
	// Disabled has no sidecar of the mesh count requests or write lines of them.
	Disabled bool `json:"disabled,omitempty"`
	// Paths is what is told of the paths of failed requests, always without the query: match (default), the
	// match of the rule in their place; full; none. Who taps sees whole paths.
	Paths string `json:"paths,omitempty"`
}

// What lines show of paths.
const (
	PathsFull  = "full"
	PathsMatch = "match"
	PathsNone  = "none"
)

// Counts reports whether requests are counted; where nobody says anything they are.
func (t *Telemetry) Counts() bool { return t == nil || !t.Disabled }

// Validate refuses what is no way to show paths.
func (t *Telemetry) Validate(at Path) error {
	if t == nil {
		return nil
	}
	switch t.Paths {
	case "", PathsFull, PathsMatch, PathsNone:
		return nil
	}
	return at.Field("paths").OneOf(t.Paths, PathsFull, PathsMatch, PathsNone)
}
