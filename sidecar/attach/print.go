package attach

import "bytes"

// Print is a resource, an *xds.Resource, in the JSON of Envoy's config dump, as Redact leaves it.
func Print[R interface{ Config() ([]byte, error) }](x R) ([]byte, error) {
	lines, err := x.Config()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = Redact(&out, bytes.NewReader(lines))
	return out.Bytes(), err
}
