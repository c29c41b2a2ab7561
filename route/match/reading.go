package match

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/weftmesh/weft/route/match/re2"
)

// PathNormalization is how a proxy reads the path of a request before it matches.
type PathNormalization uint8

// The readings. All decode what needs no encoding, encode what does, and resolve dot segments.
const (
	// Read is that of calls to services.
	Read PathNormalization = iota
	// Merged is that of edge dataplanes: slashes in a row are one, too.
	Merged
	// AtPermissions is that of inbounds where permissions name paths: there paths with an encoded slash or
	// backslash are refused, too.
	AtPermissions
)

// The parts of the expressions below: hexadecimal digits, the characters of a path but for slash and
// dot, and the two digits of what stays encoded.
const (
	hexDigit = `[0-9A-Fa-f]`
	inPath   = `[!$-\-0-;=@-\[\]_a-z~]`
	withDot  = `[!$-.0-;=@-\[\]_a-z~]`
	encodes  = `(?:0[1-9A-Fa-f]|1[0-9A-Fa-f]|2[0-9A-Ca-cFf]|3[A-Fa-f]|40|5[B-Eb-e]|60|7[B-Db-dFf]|[89A-Fa-f][0-9A-Fa-f])`
)

// onWire are the texts that requests have, by what they are about, as proxies read them: a text has to
// be in each of the languages. What is not there is whatever somebody writes.
var onWire = map[Subject][]string{
	OnPath: {
		`(?:/(?:` + inPath + withDot + `*|\.(?:` + inPath + withDot + `*|\.` + withDot + `+))?)+`,
		`(?:[^%]|%+(?:` + hexDigit + `%+)*(?:[^0-9A-Fa-f%]|` + hexDigit + `[^0-9A-Fa-f%]|` + encodes + `))*(?:%+(?:` + hexDigit + `%+)*` + hexDigit + `?)?`,
	},
	OnMethod:    {"[0-9A-Za-z!#$%&'*+.^_`|~-]+"},
	OnHeader:    {`(?:[!-~\x80-\xFF](?:[\t -~\x80-\xFF]*[!-~\x80-\xFF])?)?`},
	OnQuery:     {`[!"$%'-~]*`},
	OnCookie:    {`[\t -:<-~\x80-\xFF]*`},
	OnAuthority: {`[!-"$-.0-;<->A-~]+`},
}

// onMerged and onPermissions are what paths have beside that.
var (
	onMerged      = []string{`(?:/[^/]+)*/?`}
	onPermissions = []string{`(?:/[^/]+)*/?`, `(?:[^%]|%[^25]|%2[^fF]|%5[^cC])*%?[25]?`}
)

type wireKey struct {
	on  Subject
	how PathNormalization
}

// wire is a language of what requests have, also as an expression for texts that are known.
type wire struct {
	*re2.Language
	test *regexp.Regexp
}

// wires are the languages of what requests have.
var wires = sync.OnceValue(func() map[wireKey][]wire {
	out := map[wireKey][]wire{}
	for on, texts := range onWire {
		for _, how := range []PathNormalization{Read, Merged, AtPermissions} {
			all := texts
			if on == OnPath {
				all = append(all[:len(all):len(all)], map[PathNormalization][]string{Merged: onMerged, AtPermissions: onPermissions}[how]...)
			}
			for _, text := range all {
				out[wireKey{on, how}] = append(out[wireKey{on, how}], wire{re2.LanguageOf(text), regexp.MustCompile(`\A(?s:` + text + `)\z`)})
			}
		}
	}
	return out
})

// onTheWire reports whether some request has a text.
func onTheWire(on Subject, how PathNormalization, text string) bool {
	for _, w := range wires()[wireKey{on, how}] {
		if !w.test.MatchString(Bytewise(text)) {
			return false
		}
	}
	return true
}

// asRead is a path as proxies have it when they match, for one that somebody wrote by hand: with
// what needs it encoded, and what does not decoded, without dot segments. It is a proposal.
func asRead(path string, how PathNormalization) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if at := strings.IndexAny(path, "?#"); at >= 0 {
		path = path[:at]
	}
	path = Unescaped(path, func(c byte) bool { return c <= ' ' || c >= 0x7f || strings.IndexByte(EncodedInPath, c) >= 0 })
	if how != Read {
		path = MergeSlashes(path)
	}
	return ResolveDots(path)
}

// MergeSlashes is a path with one slash for several.
func MergeSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// EncodedInPath are the characters that a path has encoded only.
const EncodedInPath = "\"<>^`{|}"

// Unescaped is a path in which what needs no encoding is decoded and a backslash is a slash, as
// Envoy's normalize_path has it; encodes are the other bytes that it has encoded.
func Unescaped(path string, encodes func(byte) bool) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if v, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil && plainInPath(byte(v)) {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		switch {
		case c == '\\':
			b.WriteByte('/')
		case encodes(c):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ResolveDots is a path, which begins with a slash, without the segments . and ..; slashes in a row stay.
func ResolveDots(path string) string {
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == "." || s == "..":
			if s == ".." && len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// plainInPath reports whether a byte is never encoded in a path.
func plainInPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// PlainlySpelled reports whether a proxy that normalizes paths, and takes several slashes for
// one, leaves the path as it is.
func PlainlySpelled(path string) bool {
	if strings.Contains(path, "//") || strings.Contains(path, `\`) || strings.Contains(path, "#") {
		return false
	}
	for s := range strings.SplitSeq(path, "/") {
		if s == "." || s == ".." {
			return false
		}
	}
	for i := 0; i+2 < len(path); i++ {
		if path[i] != '%' {
			continue
		}
		b := unhex(path[i+1])<<4 | unhex(path[i+2])
		if b == '/' || b == '\\' || b == '-' || b == '.' || b == '_' || b == '~' ||
			b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			return false
		}
	}
	return true
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0
}
