// Package deploy holds what is installed into a cluster: the Helm chart, of which `weft
// install control-plane` renders the same templates, and the definitions in crds. It is
// files alone; control/install gives them their meaning.
package deploy

import "embed"

// Templates are those of the chart, chart/templates/*.
//
//go:embed all:chart/templates
var Templates embed.FS
