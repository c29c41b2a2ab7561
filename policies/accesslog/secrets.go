package accesslog

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/accesslog/format"
)

// headerReaders are the commands that write headers.
var headerReaders = []string{"REQ", "REQUEST_HEADER", "STREAM_INFO_REQ", "RESP", "RESPONSE_HEADER", "TRAILER", "RESPONSE_TRAILER"}

// warnSecrets warns of headers whose values are secret.
func warnSecrets(f *policies.Findings, at api.Path, read format.Format) {
	for _, name := range secretsIn(read) {
		f.Warns(at, policies.CodeLogsSecret, "writes the header %s, whose value is enough to act in the name of who sent it; leave it out", name)
	}
}

// secretsIn are the headers with secret values that a format writes, sorted.
func secretsIn(read format.Format) []string {
	var out []string
	for _, p := range read {
		if !slices.Contains(headerReaders, p.Name) {
			continue
		}
		for name := range strings.SplitSeq(strings.ToLower(p.Argument), "?") {
			if redact.SecretHeader(name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
