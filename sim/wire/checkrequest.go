package wire

import (
	"slices"
	"strings"
)

var versions = []string{"", "1.0", "1.1", "2"}

// MaxMistakes is how many mistakes of one field are told of at most.
const MaxMistakes = 100

func notInName(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// notInHTTP2 holds for headers of one connection (RFC 9113, 8.2.2), and for a host
// that only HTTP/1 may name.
func notInHTTP2(name, value string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	case "content-length":
		return strings.Trim(value, "0123456789") != ""
	case "te":
		return slices.ContainsFunc(strings.Split(value, Separator), func(v string) bool { return !strings.EqualFold(v, "trailers") })
	case "host":
		return value == "" || strings.ContainsRune(value, '@') || strings.ContainsFunc(value, notInHost)
	}
	return false
}

// notInHost are the characters of which Envoy 1.40 takes none in a host.
func notInHost(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"#/<>?\\^`{|}", r)
}

// known are the methods that Envoy reads from an HTTP/1.1 client.
var known = strings.Fields("ACL BIND CHECKOUT COPY DELETE GET HEAD LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH " +
	"POST PROPFIND PROPPATCH PURGE PUT REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE CONNECT")
