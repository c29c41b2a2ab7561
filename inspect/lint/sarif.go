package lint

import (
	"net/url"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Sarif is a log of SARIF 2.1.0, as code scanning reads it: of its fields those that findings
// have.
type Sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"semanticVersion,omitempty"`
	Home    string      `json:"informationUri"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
	Full  sarifText `json:"fullDescription"`
	Help  sarifText `json:"help"`
	URI   string    `json:"helpUri"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule         string             `json:"ruleId"`
	Index        *int               `json:"ruleIndex,omitempty"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations,omitempty"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifSuppression struct {
	Kind string `json:"kind"`
}

var levels = map[api.Severity]string{api.Error: "error", api.Warning: "warning", api.Info: "note"}

// SarifOf is a report as a log of this version of the program. It names the rules of which
// something was found.
func SarifOf(r Report, version string) Sarif {
	d := sarifDriver{Name: "weft", Version: version, Home: "https://github.com/weftmesh/weft", Rules: []sarifRule{}}
	at := map[string]int{}
	results := []sarifResult{}
	add := func(f Finding, silenced bool) {
		rule, known := Lookup(f.Code)
		if _, there := at[f.Code]; known && !there {
			at[f.Code] = len(d.Rules)
			d.Rules = append(d.Rules, sarifRule{rule.Code, sarifText{rule.Title}, sarifText{rule.About}, sarifText{rule.Do}, HelpAt(rule.Code)})
		}
		x := sarifResult{Rule: f.Code, Level: levels[f.Severity], Message: sarifText{f.text()}}
		if i, ok := at[f.Code]; ok {
			x.Index = &i
		}
		if l, ok := f.location(); ok {
			x.Locations = []sarifLocation{l}
		}
		if silenced {
			x.Suppressions = []sarifSuppression{{"inSource"}}
		}
		results = append(results, x)
	}
	for _, f := range r.Findings {
		add(f, false)
	}
	for _, f := range r.Silenced {
		add(f, true)
	}
	return Sarif{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{{sarifTool{d}, results}}}
}

// text is a finding with its field.
func (f *Finding) text() string {
	if f.Field == "" {
		return f.Message
	}
	return string(f.Field) + ": " + f.Message
}

func (f *Finding) location() (l sarifLocation, ok bool) {
	if f.File != "" {
		l.Physical = &sarifPhysical{Artifact: sarifArtifact{uri(f.File)}}
		if f.Line > 0 {
			l.Physical.Region = &sarifRegion{f.Line, max(f.Column, 0)}
		}
	}
	if f.Object != "" {
		l.Logical = []sarifLogical{{Name: f.Object, Kind: "object"}}
	}
	if f.Object != "" && f.Field != "" {
		l.Logical = append(l.Logical, sarifLogical{Name: f.Object + ":" + string(f.Field), Kind: "property"})
	}
	return l, l.Physical != nil || l.Logical != nil
}

// uri is a file as SARIF names it: escaped, with slashes.
func uri(file string) string {
	return (&url.URL{Path: strings.ReplaceAll(file, `\\`, "/")}).String()
}
