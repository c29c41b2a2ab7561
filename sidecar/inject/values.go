package inject

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
)

// parseBool reads the spellings of yes and no that Kuma's annotations have.
func parseBool(text string) (bool, error) {
	switch text {
	case "true", "enabled", "yes":
		return true, nil
	case "false", "disabled", "no":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither yes nor no; write true or false", redact.Clip(text))
}

// oneOf wants one of words.
func oneOf(text string, words ...string) error {
	if slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("unknown value %q; %s", redact.Clip(text), nearest.DidYouMean(text, words, "write one of"))
}

// parseNumber reads a whole number.
func parseNumber(text string, least, most int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q does not fit; write a whole number from %d to %d", redact.Clip(text), least, most)
	}
	return int(n), nil
}

// words are what stands between separators, without space around it; what is empty is left out.
func words(text, separator string) []string {
	var out []string
	for _, w := range strings.Split(text, separator) {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ownVariables are set by weft alone.
var ownVariables = []string{"POD_IPS", "POD_NAME", "POD_NAMESPACE", "POD_UID", "TMPDIR", "WEFT_CA_CERT", "WEFT_MESH", "WEFT_PROBES", "WEFT_XDS_FALLBACK", "XTABLES_LOCKFILE"}

func checkVariable(name string) error {
	if !variable.MatchString(name) {
		return fmt.Errorf("%q is no name of a variable; use letters, digits and _", redact.Clip(name))
	}
	if slices.Contains(ownVariables, name) {
		return fmt.Errorf("%s is set by weft itself; leave it out", name)
	}
	return nil
}

// parseVariables reads A=1;B=2.
func parseVariables(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, w := range words(text, ";") {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%q has no =; write NAME=value with ; in between", redact.Clip(w))
		}
		if err := checkVariable(name); err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s is set twice; remove one", name)
		}
		out[name] = value
	}
	return out, nil
}
