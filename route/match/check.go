package match

import (
	"regexp/syntax"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// ControlHeaders are the request headers that Envoy takes as orders to override
// retries and timeouts.
var ControlHeaders = []string{
	"x-envoy-expected-rq-timeout-ms", "x-envoy-hedge-on-per-try-timeout", "x-envoy-max-retries", "x-envoy-retriable-header-names",
	"x-envoy-retriable-status-codes", "x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-alt-stat-name",
	"x-envoy-upstream-rq-per-try-timeout-ms", "x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-rq-timeout-ms",
	"x-envoy-upstream-stream-duration-ms",
}

// RegexBudget is the size of an RE2 program that Envoy accepts (spec/xds.md 7).
const RegexBudget = 5000

// The limits of a regular expression. Go's count of a program is sometimes below
// Envoy's, hence the distance to RegexBudget.
const (
	maxRegexSource  = 1 << 10
	maxRegexProgram = RegexBudget / 2
)

// CheckRegex wants a regular expression that Envoy will take.
func CheckRegex(at api.Path, source string) error {
	if source == "" {
		return at.Breaks("the regular expression is empty; write one, such as .*")
	}
	if len(source) > maxRegexSource {
		return at.Breaks("the regular expression has %d bytes; at most %d are allowed, so split it", len(source), maxRegexSource)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return at.Breaks("the regular expression is wrong: %s; write it in RE2 syntax", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if why := beyondBytes(source, tree); why != "" {
		return at.Breaks("the regular expression cannot be compared: %s", why)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxRegexProgram {
		return at.Breaks("the regular expression is too large when compiled; repeat less, or split it into several matches")
	}
	return nil
}

// CheckHeaderMatch wants a comparison of a header, which stands at at, in the words
// of Kuma's documents: Exact, Prefix, RegularExpression, Present or Absent.
func CheckHeaderMatch(at api.Path, word, value string) error {
	here := at.Field("value")
	switch word {
	case Equal.row().word, BytePrefix.row().word:
		return CheckHeaderValue(here, value)
	case FullMatch.row().word:
		return CheckRegex(here, value)
	case Present.row().word, absent:
		if value != "" {
			return here.Breaks("%s compares no value; remove it, or write type Exact", word)
		}
		return nil
	}
	return at.Field("type").OneOf(word, "Exact", "Present", "RegularExpression", "Absent", "Prefix")
}

// CheckHeaderValue wants a value without line breaks or other control characters.
func CheckHeaderValue(at api.Path, value string) error {
	const most = 16 << 10
	if len(value) > most {
		return at.Breaks("the value has %d bytes; at most %d are allowed", len(value), most)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return at.Breaks("%q holds a line break or another control character; remove it", redact.Clip(value))
	}
	return nil
}
