// Command dashboards writes the dashboard of requests, deploy/grafana/requests.json, over the metrics that
// inspect/traffic names: what it asks for is what is served.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

//go:generate go run . -to ../../deploy/grafana/requests.json

func main() {
	to := flag.String("to", "", "the dashboard")
	flag.Parse()
	text, err := json.MarshalIndent(requests(), "", "  ")
	if err == nil {
		err = os.WriteFile(*to, append(text, '\n'), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

// The parts of a dashboard of Grafana that are written here.
type (
	dashboard struct {
		Title         string            `json:"title"`
		UID           string            `json:"uid"`
		Tags          []string          `json:"tags"`
		SchemaVersion int               `json:"schemaVersion"`
		Version       int               `json:"version"`
		Editable      bool              `json:"editable"`
		Timezone      string            `json:"timezone"`
		Refresh       string            `json:"refresh"`
		Time          map[string]string `json:"time"`
		Templating    templating        `json:"templating"`
		Panels        []*panel          `json:"panels"`
	}
	templating struct {
		List []variable `json:"list"`
	}
	variable struct {
		Name       string            `json:"name"`
		Type       string            `json:"type"`
		Query      string            `json:"query"`
		Label      string            `json:"label"`
		Datasource *datasource       `json:"datasource,omitempty"`
		Refresh    int               `json:"refresh,omitempty"`
		IncludeAll bool              `json:"includeAll,omitempty"`
		AllValue   string            `json:"allValue,omitempty"`
		Multi      bool              `json:"multi,omitempty"`
		Current    map[string]string `json:"current,omitempty"`
	}
	datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	panel struct {
		ID          int         `json:"id"`
		Type        string      `json:"type"`
		Title       string      `json:"title"`
		Description string      `json:"description,omitempty"`
		Datasource  *datasource `json:"datasource,omitempty"`
		GridPos     position    `json:"gridPos"`
		FieldConfig *fields     `json:"fieldConfig,omitempty"`
		Targets     []target    `json:"targets,omitempty"`
		Collapsed   *bool       `json:"collapsed,omitempty"` // of a row
		Panels      *[]*panel   `json:"panels,omitempty"`
	}
	position struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	fields struct {
		Defaults  map[string]any `json:"defaults"`
		Overrides []any          `json:"overrides"`
	}
	target struct {
		Expr       string      `json:"expr"`
		Legend     string      `json:"legendFormat"`
		RefID      string      `json:"refId"`
		Datasource *datasource `json:"datasource"`
	}
)

var prometheus = &datasource{"prometheus", "${datasource}"}

// sheet places panels one after the other.
type sheet struct {
	panels  []*panel
	x, y, h int
}

// width is that of a whole row.
const width = 24

func (s *sheet) place(p *panel, w, h int) {
	if s.x+w > width {
		s.x, s.y, s.h = 0, s.y+s.h, 0
	}
	p.ID, p.GridPos = len(s.panels)+1, position{h, w, s.x, s.y}
	s.panels = append(s.panels, p)
	s.x, s.h = s.x+w, max(s.h, h)
}

// row begins a row with a title.
func (s *sheet) row(title string) {
	open, none := false, []*panel{}
	s.place(&panel{Type: "row", Title: title, Collapsed: &open, Panels: &none}, width, 1)
}

// A query and what its lines are called.
type query struct{ expr, legend string }

func (s *sheet) panel(kind, title, about, unit string, w, h int, queries ...query) {
	defaults := map[string]any{"unit": unit, "min": 0}
	if unit == "percentunit" {
		defaults["max"] = 1
	}
	p := &panel{Type: kind, Title: title, Description: about, Datasource: prometheus, FieldConfig: &fields{defaults, []any{}}}
	for i, q := range queries {
		p.Targets = append(p.Targets, target{q.expr, q.legend, string(rune('A' + i)), prometheus})
	}
	s.place(p, w, h)
}

func (s *sheet) stat(title, about, unit string, queries ...query) {
	s.panel("stat", title, about, unit, 4, 4, queries...)
}

func (s *sheet) lines(title, about, unit string, queries ...query) {
	s.panel("timeseries", title, about, unit, 8, 8, queries...)
}
