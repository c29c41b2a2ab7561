package api

import "regexp"

// Shape is how texts of one use look, for schemas: what a validation accepts has it.
type Shape struct {
	Pattern string // RE2, of the whole text
	Length  int    // at most, in characters; 0 where nothing bounds it but the kind
}

// durationText is every spelling that time.ParseDuration reads.
const durationText = `^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// Shapes are those that the tag `schema:"is=…"` of a field may name.
var Shapes = map[string]Shape{
	"hostname":   {dnsSubdomain.String(), 253},
	"namespace":  {Pattern: dnsSubdomain.String()},
	"name":       {tagValue.String(), 253},
	"portName":   {portName.String(), 63},
	"label":      {dnsLabel.String(), 63},
	"duration":   {Pattern: durationText},
	"headerName": {headerName.String(), 256},
	"header":     {`^[^\x00-\x08\x0a-\x1f\x7f]*$`, 16 << 10},
}

// headerName is a name in lower case that HTTP allows.
var headerName = regexp.MustCompile("^[a-z0-9!#$%&'*+.^_`|~-]+$")
