package redact

import (
	"strings"
)

// Clip shortens the text of others for a message, which quotes nothing that looks like a key.
func Clip(s string) string {
	const most = 80
	if LooksSecret(s) {
		return Unquoted
	}
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
