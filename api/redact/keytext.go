package redact

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"unicode"
)

// Unquoted stands in a message for a text of a document that nobody may read in a log.
const Unquoted = "(a text that looks like a key)"

const (
	// longestName is how long a run of letters and digits may be that is a name to people.
	longestName = 40
	// longestPlain is how long a text without spaces may be that is quoted, whatever it is.
	longestPlain = 100
)

// LooksSecret reports whether a text may be key material: PEM, base64 or hexadecimal digits as keys
// and tokens have them. No message quotes such a text: messages end in logs, in terminals, and with
// who may not read what they are about.
func LooksSecret(text string) bool {
	if strings.Contains(text, "-----BEGIN") || strings.Contains(text, "PRIVATE KEY") {
		return true
	}
	for word := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
		if len(word) >= longestPlain && random(word) {
			return true
		}
		for run := range strings.FieldsFuncSeq(word, func(r rune) bool { return !inBase64(r) }) {
			if len(run) >= longestName && random(run) {
				return true
			}
		}
		for run := range strings.FieldsFuncSeq(word, func(r rune) bool { return !inBase64(r) && r != '/' && r != '-' }) {
			if len(run) >= longestName && restless(run) {
				return true
			}
		}
	}
	return false
}

// restless reports whether small letters, capitals and digits follow each other as by chance: in base64 about
// six of ten characters are of another sort than the one before, in a path of names few are. Slashes and dashes
// part names, and stand in keys too.
func restless(run string) bool {
	var sorts [3]int
	changes, last := 0, -1
	for _, r := range run {
		var sort int
		switch {
		case unicode.IsDigit(r):
			sort = 0
		case unicode.IsUpper(r):
			sort = 1
		case unicode.IsLower(r):
			sort = 2
		default:
			continue
		}
		sorts[sort]++
		if last >= 0 && sort != last {
			changes++
		}
		last = sort
	}
	letters, all := sorts[1] > 0 && sorts[2] > 0, sorts[0]+sorts[1]+sorts[2]
	return letters && (sorts[0] > 0 && 4*changes >= all || 20*changes >= 7*all)
}

// inBase64 reports whether a rune is one of base64; slashes and dashes part names.
func inBase64(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '+' || r == '=' || r == '_'
}

// random reports whether a run has what nobody writes by hand: digits among letters of both cases,
// or digits alone, with those of hexadecimal.
func random(run string) bool {
	var upper, lower, digits, beyond int
	for _, r := range run {
		switch {
		case unicode.IsDigit(r):
			digits++
		case r >= 'a' && r <= 'f':
			lower++
		case r >= 'A' && r <= 'F':
			upper++
		case unicode.IsUpper(r):
			upper, beyond = upper+1, beyond+1
		case unicode.IsLower(r):
			lower, beyond = lower+1, beyond+1
		default:
			beyond++
		}
	}
	return digits > 0 && upper > 0 && lower > 0 || beyond == 0 && digits > 0 && upper+lower > 0
}

// Arguments are arguments of a message without those that may be key material.
func Arguments(args []any) []any {
	for i, a := range args {
		var text string
		switch a := a.(type) {
		case string:
			text = a
		case error:
			text = a.Error()
		}
		if text == "" || !LooksSecret(text) {
			continue
		}
		out := append([]any(nil), args...)
		for j := i; j < len(out); j++ {
			switch a := out[j].(type) {
			case string:
				if LooksSecret(a) {
					out[j] = Unquoted
				}
			case error:
				if LooksSecret(a.Error()) {
					out[j] = Unquoted
				}
			}
		}
		return out
	}
	return args
}

// IsPrivateKey reports whether a text is a private key: in PEM, PEM in base64, or DER in base64.
func IsPrivateKey(text string) bool {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "-----BEGIN") {
		return strings.Contains(text, "PRIVATE KEY")
	}
	if len(text) < longestName || text[0] != 'M' && !strings.HasPrefix(text, "LS0tLS1CRUdJTi") {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return false
	}
	if bytes.HasPrefix(raw, []byte("-----BEGIN")) {
		return bytes.Contains(raw, []byte("PRIVATE KEY"))
	}
	if _, err := x509.ParsePKCS8PrivateKey(raw); err == nil {
		return true
	}
	if _, err := x509.ParsePKCS1PrivateKey(raw); err == nil {
		return true
	}
	_, err = x509.ParseECPrivateKey(raw)
	return err == nil
}
