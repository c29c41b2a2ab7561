package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The bounds of a token of which claims are read.
const (
	maxToken = 8192
	maxDepth = 32
)

// none is what is known of a token without claims.
var none = map[string]string{}

// TokenClaims are the text claims of a bearer token, which nobody verified; none
// where it is no token, or beyond the bounds.
func TokenClaims(authorization string) map[string]string {
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	parts := strings.Split(token, ".")
	if !bearer || len(parts) != 3 || len(authorization) > maxToken {
		return none
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || !utf8.Valid(payload) || tooDeep(payload) {
		return none
	}
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber() // whatever its size
	if !json.Valid(payload) || d.Decode(&all) != nil {
		return none
	}
	out := map[string]string{}
	for name, v := range all {
		if s, ok := v.(string); ok && !strings.Contains(name+s, "\x00") {
			out[name] = s
		}
	}
	return out
}

// tooDeep reports whether values stand in each other beyond the bound.
func tooDeep(payload []byte) bool {
	d := json.NewDecoder(bytes.NewReader(payload))
	for open := 0; ; {
		t, err := d.Token()
		switch {
		case err != nil:
			return false
		case t == json.Delim('}') || t == json.Delim(']'):
			open--
			continue
		case open == maxDepth:
			return true
		case t == json.Delim('{') || t == json.Delim('['):
			open++
		}
	}
}
