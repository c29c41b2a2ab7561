package attach

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"
)

// Redacted stands where a secret was, as Envoy itself writes it.
const Redacted = "[redacted]"

// ErrTooLarge says that an answer is larger than LargestAnswer.
var ErrTooLarge = fmt.Errorf("the answer is larger than %d MiB", LargestAnswer>>20)

var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)
	jwt        = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	credential = regexp.MustCompile(`(?i)\b(bearer|basic) +[A-Za-z0-9._~+/=-]+`)
	// A field of JSON that is a secret by its name, and a header that is one by the
	// field before: Envoy prints "key" and "value" on lines of their own.
	field  = regexp.MustCompile(`(?i)("(?:private_?key|password|secret|client_?secret|token|api_?key|hmac_?secret)":\s*)"(?:[^"\\]|\\.)*"`)
	header = regexp.MustCompile(`(?i)"key":\s*"(?:authorization|proxy-authorization|cookie|set-cookie|x-api-key|api-key|x-auth-token)"`)
	value  = regexp.MustCompile(`("(?:value|raw_value)":\s*)"(?:[^"\\]|\\.)*"`)
)

// Redact copies an answer of Envoy without keys, tokens and other credentials: those
// that can be told by their form, by the name of their field or header, and those given
// as own. It works line by line, as Envoy writes them. An answer that is too large is
// cut, with ErrTooLarge.
func Redact(to io.Writer, from io.Reader, own ...string) error {
	in, left := bufio.NewReaderSize(from, 64<<10), LargestAnswer
	after := false // a header that is a secret
	for {
		line, err := readLine(in, left)
		left -= len(line)
		if len(line) > 0 {
			line, after = redactLine(line, after, own)
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// readLine reads one line with its end, of at most that many bytes.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var whole []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(whole)+len(part) > most {
			return nil, ErrTooLarge
		}
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// redactLine is line without secrets, and whether the value on the next one is a secret.
// The cheap look before each expression keeps large answers cheap.
func redactLine(line []byte, after bool, own []string) ([]byte, bool) {
	for _, text := range own {
		if text != "" {
			line = bytes.ReplaceAll(line, []byte(text), []byte(Redacted))
		}
	}
	if bytes.Contains(line, []byte("PRIVATE KEY-----")) {
		line = privateKey.ReplaceAll(line, []byte(Redacted))
	}
	if bytes.Contains(line, []byte("eyJ")) {
		line = jwt.ReplaceAll(line, []byte(Redacted))
	}
	if bytes.Contains(line, []byte("earer")) || bytes.Contains(line, []byte("asic")) || bytes.Contains(line, []byte("BEARER")) || bytes.Contains(line, []byte("BASIC")) {
		line = credential.ReplaceAll(line, []byte("$1 "+Redacted))
	}
	if mayName(line, "key", "password", "secret", "token") {
		line = field.ReplaceAll(line, []byte(`$1"`+Redacted+`"`))
	}
	at := mayName(line, "key") && header.Match(line)
	if at || after {
		line = value.ReplaceAll(line, []byte(`$1"`+Redacted+`"`))
	}
	return line, at
}

// longestName is that of a word of mayName of which each letter is three bytes.
const longestName = 3 * len("password")

// mayName reports whether line may have a field of JSON whose name ends in one of words, in
// whichever case: that of a line with other letters than ASCII's is not looked at.
func mayName(line []byte, words ...string) bool {
	for rest := line; ; {
		at := bytes.Index(rest, []byte(`":`))
		if at < 0 {
			return false
		}
		for _, word := range words {
			if at >= len(word) && bytes.EqualFold(rest[at-len(word):at], []byte(word)) {
				return true
			}
		}
		if bytes.ContainsFunc(rest[max(0, at-longestName):at], func(r rune) bool { return r >= utf8.RuneSelf }) { // expressions fold more than ASCII
			return true
		}
		rest = rest[at+2:]
	}
}
