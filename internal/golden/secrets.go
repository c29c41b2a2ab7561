package golden

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/certs"
)

// secrets are the documents of Secrets with certificates, of which text has the names.
func secrets(text string) ([]byte, error) {
	var out strings.Builder
	for _, ref := range strings.Fields(text) {
		namespace, name := api.CutNamespace(ref)
		pair, err := certs.Make(name + ".example")
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n" + pair.Secret(namespace, name))
	}
	return []byte(out.String()), nil
}
