package inject

import (
	"errors"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// intercepted are the settings of interception that values give.
func (v InterceptionValues) intercepted() (intercept.Config, error) {
	c := intercept.Default()
	var errs [3]error
	c.ExcludeInboundPorts, errs[0] = intercept.ParsePorts(strings.Join(v.ExcludeInboundPorts, ","))
	c.ExcludeOutboundPorts, errs[1] = intercept.ParsePorts(strings.Join(v.ExcludeOutboundPorts, ","))
	c.ExcludeOutboundIPs, errs[2] = intercept.ParsePrefixes(strings.Join(v.ExcludeOutboundIPs, ","))
	return c, errors.Join(errs[:]...)
}

// addPorts adds what a text lists to ports.
func addPorts(ports *intercept.Ports, text string) error {
	given, err := intercept.ParsePorts(text)
	if err != nil {
		return oneLine(err)
	}
	*ports, err = intercept.ParsePorts(strings.Trim(ports.String()+","+given.String(), ","))
	return err
}

// addPrefixes is the same for addresses.
func addPrefixes(prefixes *intercept.Prefixes, text string) error {
	given, err := intercept.ParsePrefixes(text)
	if err != nil {
		return oneLine(err)
	}
	*prefixes = slices.Concat(*prefixes, given)
	return nil
}

// oneLine are many errors of one value as one.
func oneLine(err error) error {
	var all []string
	for _, e := range flat(err) {
		all = append(all, e.Error())
	}
	return errors.New(strings.Join(all, "; "))
}

// flat takes many errors apart that came as one.
func flat(err error) []error {
	var many interface{ WrappedErrors() []error }
	if errors.As(err, &many) {
		return many.WrappedErrors()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// annotationOf are the annotations that set flags of `weft install transparent-proxy`,
// where the names differ.
var annotationOf = map[string]string{"dns-port": "kuma.io/builtin-dns-port", "ip-family-mode": annotationFamily}

// refusedInterception is what settings of interception that were read one by one are
// refused for together.
func (s *settings) refusedInterception() []*api.Violation {
	var out []*api.Violation
	for _, e := range flat(s.redirect.Validate()) {
		var f *intercept.InvalidFlag
		if !errors.As(e, &f) {
			f = &intercept.InvalidFlag{Message: e.Error()}
		}
		name, ok := annotationOf[f.Flag]
		if !ok {
			name = "traffic.kuma.io/" + f.Flag
		}
		v := annotationPath(name).Breaks("%s", f.Message)
		v.Code = "InvalidAnnotation"
		out = append(out, v)
	}
	return out
}
