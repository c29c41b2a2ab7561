package metrics

import (
	"bytes"
	"regexp"
	"strings"
)

// cutName is a name of Envoy's in which a part of an address or a host stands: it takes what comes before the
// first dot for the name of a connection manager or a virtual host, and the rest for a part of the statistic.
// Those names end with a port, and perhaps the filter chain.
var cutName = regexp.MustCompile(`^envoy_(http|tcp|vhost)_((?:[a-zA-Z0-9]+_)*?[0-9]+(?:_[0-9]+)*(?:_(?:mtls|plain|own))?)_(.+)$`)

// nameLabels are the labels with the names of what statistics are about.
var nameLabels = map[string]string{"http": "envoy_http_conn_manager_prefix", "tcp": "envoy_tcp_prefix", "vhost": "envoy_virtual_host"}

// statName is how a family is called, and what has to go back into a label of its samples.
type statName struct{ said, name, label, rest string }

func readStatName(said string) statName {
	m := cutName.FindStringSubmatch(said)
	if m == nil {
		return statName{said: said, name: said}
	}
	return statName{said, "envoy_" + m[1] + "_" + m[3], nameLabels[m[1]], m[2]}
}

// restored is a sample by the name, with the whole label.
func (n statName) restored(line []byte) []byte {
	if n.said == n.name {
		return line
	}
	line = append([]byte(n.name), bytes.TrimPrefix(line, []byte(n.said))...)
	label := []byte(n.label + `="`)
	at := bytes.Index(line, label)
	if at < 0 {
		return line
	}
	at += len(label)
	end := bytes.IndexByte(line[at:], '"')
	if end < 0 {
		return line
	}
	out := append([]byte(nil), line[:at+end]...)
	return append(append(append(out, '_'), n.rest...), line[at+end:]...)
}

// comesInParts reports whether a family may come in several parts, with parts of addresses in their names.
func comesInParts(name string) bool {
	return strings.HasPrefix(name, "envoy_http_") || strings.HasPrefix(name, "envoy_tcp_") || strings.HasPrefix(name, "envoy_vhost_")
}
