package issuer

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// ExpiredSecrets say which certificates in Secrets have ended, or soon will.
func ExpiredSecrets(m *resolve.Model, now time.Time) (notes []api.Note) {
	told := map[api.Ref]bool{} // one may be in several meshes
	for s := range m.Certificates() {
		c := certificateOf(s.Chain)
		if c == nil || !now.After(workload.WarnAt(c.NotBefore, c.NotAfter)) || told[s.Ref] {
			continue
		}
		told[s.Ref] = true
		n := api.Note{Origin: &api.Origin{Ref: s.Ref}, Severity: api.Warning, Code: api.CodeExpired, Field: "data[" + api.SecretTLSCert + "]",
			Message: "its certificate ends at " + c.NotAfter.UTC().Format(time.RFC3339) + "; bring its successor, with its key"}
		if !now.Before(c.NotAfter) {
			n.Severity, n.Message = api.Error, "its certificate has ended at "+c.NotAfter.UTC().Format(time.RFC3339)+", so that clients of the edges that show it refuse to connect; bring its successor, with its key"
		}
		notes = append(notes, n)
	}
	return notes
}

// certificateOf is the first certificate of a chain in PEM; nil where there is none.
func certificateOf(chain []byte) *x509.Certificate {
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return c
}
