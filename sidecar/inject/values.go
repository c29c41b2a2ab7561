package inject

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
)

// parseBool reads the spellings of yes and no that Kuma's annotations have.
func parseBool(text string) (bool, error) {
	switch text {
	case "true", "enabled", "yes":
		return true, nil
	case "false", "disabled", "no":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither yes nor no; write true or false", api.Clip(text))
}

// oneOf wants one of words.
func oneOf(text string, words ...string) error {
	if slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("unknown value %q; %s", api.Clip(text), api.DidYouMean(text, words, "write one of"))
}

// parseNumber reads a whole number.
func parseNumber(text string, least, most int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%q does not fit; write a whole number from %d to %d", api.Clip(text), least, most)
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

// most is how many ports or addresses one annotation may list.
const most = 100

// parsePorts reads ports and ranges between commas, in order and each once.
func parsePorts(text string) ([]string, error) {
	list := words(text, ",")
	if len(list) > most {
		return nil, fmt.Errorf("there are %d ports; write at most %d, or ranges", len(list), most)
	}
	found := map[int]string{}
	for _, w := range list {
		low, high, isRange := strings.Cut(w, "-")
		a, errA := parseNumber(low, 1, 65535)
		b, errB := a, error(nil)
		if isRange {
			b, errB = parseNumber(high, 1, 65535)
		}
		if errA != nil || errB != nil || b < a {
			return nil, fmt.Errorf("%q is no port; write numbers from 1 to 65535, or ranges such as 8000-8010, with commas in between", api.Clip(w))
		}
		printed := strconv.Itoa(a)
		if b > a {
			printed += "-" + strconv.Itoa(b)
		}
		found[a<<16|b] = printed
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[k])
	}
	return out, nil
}

// parsePrefixes reads addresses and prefixes between commas, printed as prefixes, in
// order and each once.
func parsePrefixes(text string) ([]string, error) {
	list := words(text, ",")
	if len(list) > most {
		return nil, fmt.Errorf("there are %d addresses; write at most %d, or prefixes", len(list), most)
	}
	found := map[netip.Prefix]bool{}
	for _, w := range list {
		p, err := netip.ParsePrefix(w)
		if a, errA := netip.ParseAddr(w); err != nil && errA == nil && a.Zone() == "" {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no address; write addresses or prefixes such as 10.0.0.0/8, with commas in between", api.Clip(w))
		}
		found[p.Masked()] = true
	}
	var out []string
	for _, p := range slices.SortedFunc(maps.Keys(found), func(a, b netip.Prefix) int { return a.Compare(b) }) {
		out = append(out, p.String())
	}
	return out, nil
}

var errForUIDs = errors.New("write [[tcp|udp:]ports:]uid with ; in between: ports are * or a list, the uid a number or a range")

// parsePortsForUIDs reads entries between semicolons, each printed as protocol:ports:uid.
func parsePortsForUIDs(text string) ([]string, error) {
	list := words(text, ";")
	if len(list) > most {
		return nil, fmt.Errorf("there are %d entries; write at most %d", len(list), most)
	}
	var out []string
	for _, w := range list {
		entry, err := parsePortsForUID(w)
		if err != nil {
			return nil, fmt.Errorf("%q %w", api.Clip(w), err)
		}
		out = append(out, entry...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func parsePortsForUID(text string) ([]string, error) {
	protocols, ports := []string{"tcp", "udp"}, "*"
	parts := words(text, ":")
	switch len(parts) {
	case 3:
		if parts[0] != "tcp" && parts[0] != "udp" {
			return nil, fmt.Errorf("has the protocol %q; %w", api.Clip(parts[0]), errForUIDs)
		}
		protocols, parts = parts[:1], parts[1:]
		fallthrough
	case 2:
		if ports, parts = parts[0], parts[1:]; ports != "*" {
			list, err := parsePorts(ports)
			if err != nil || len(list) == 0 {
				return nil, fmt.Errorf("has ports that are none; %w", errForUIDs)
			}
			ports = strings.Join(list, ",")
		}
	case 1:
	default:
		return nil, fmt.Errorf("is no entry; %w", errForUIDs)
	}
	low, high, isRange := strings.Cut(parts[0], "-")
	a, errA := parseNumber(low, 0, 1<<31-1)
	b, errB := a, error(nil)
	if isRange {
		b, errB = parseNumber(high, 0, 1<<31-1)
	}
	if errA != nil || errB != nil || b < a {
		return nil, fmt.Errorf("names no user; %w", errForUIDs)
	}
	uid := strconv.Itoa(a)
	if b > a {
		uid += "-" + strconv.Itoa(b)
	}
	var out []string
	for _, p := range protocols {
		out = append(out, p+":"+ports+":"+uid)
	}
	return out, nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ownVariables are set by weft alone.
var ownVariables = []string{"POD_IPS", "POD_NAME", "POD_NAMESPACE", "POD_UID", "TMPDIR", "WEFT_CA_CERT", "WEFT_MESH", "WEFT_PROBES", "WEFT_XDS_FALLBACK", "XTABLES_LOCKFILE"}

func checkVariable(name string) error {
	if !variable.MatchString(name) {
		return fmt.Errorf("%q is no name of a variable; use letters, digits and _", api.Clip(name))
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
			return nil, fmt.Errorf("%q has no =; write NAME=value with ; in between", api.Clip(w))
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
