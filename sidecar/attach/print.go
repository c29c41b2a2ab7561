package attach

import (
	"bytes"

	"github.com/weftmesh/weft/xds"
)

// Print is a resource in the JSON of Envoy's config dump, as Redact leaves it.
func Print(x *xds.Resource) ([]byte, error) {
	lines, err := x.Config()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = Redact(&out, bytes.NewReader(lines))
	return out.Bytes(), err
}
