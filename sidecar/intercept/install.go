package intercept

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// Applied is what Install or Uninstall did, for people.
type Applied struct {
	Changed  bool
	Backend  Firewall     // of Install
	Families IPFamilyMode // of Install: what is redirected
	Warnings []string
}

// resolvConf is where the name servers of this host or pod stand.
const resolvConf = "/etc/resolv.conf"

// Complete fills in what c leaves to the host: the name servers.
func Complete(c *Config) error {
	if !c.RedirectDNS || len(c.DNSServers) > 0 {
		return nil
	}
	text, err := os.ReadFile(resolvConf)
	if err == nil {
		c.DNSServers = NameServers(string(text))
	}
	if len(c.DNSServers) == 0 {
		return &InvalidFlag{"redirect-dns", resolvConf + " names no server whose questions could be redirected; give --dns-servers, or leave it out"}
	}
	return nil
}

// Install makes the network namespace of this process redirect what c says. It checks
// everything first and reports all that is wrong at once; when a step fails, those
// before it are undone. Where the rules are there already it changes nothing.
func Install(ctx context.Context, c Config, b Firewall) (Applied, error) {
	var out Applied
	errs := out.configured(&c)
	release, err := alone(ctx)
	if err != nil {
		return out, multierror.Append(errs, err)
	}
	defer release()
	s := readState(ctx)
	if err := out.check(s, c, b); err != nil {
		errs = multierror.Append(errs, err)
	}
	if err := errs.ErrorOrNil(); err != nil {
		return out, err
	}
	out.Changed, err = apply(ctx, s.steps(&c, out.Backend))
	return out, err
}

// Check says what would keep Install from its work, all at once. It changes nothing.
func Check(ctx context.Context, c Config, b Firewall) (Applied, error) {
	var out Applied
	errs := out.configured(&c)
	if err := out.check(readState(ctx), c, b); err != nil {
		errs = multierror.Append(errs, err)
	}
	return out, errs.ErrorOrNil()
}

// configured completes c, and finds what is wrong with it on this host.
func (o *Applied) configured(c *Config) (errs *multierror.Error) {
	for _, err := range []error{c.Validate(), Complete(c), o.family(c)} {
		if err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	return errs
}

// family makes c want no IPv6 where there is none.
func (o *Applied) family(c *Config) error {
	switch {
	case c.IPFamilyMode == IPv4 || hasIPv6():
	case c.IPFamilyMode == IPv6:
		return &InvalidFlag{"ip-family-mode", "there is no IPv6 here; write ipv4"}
	default:
		c.IPFamilyMode = IPv4
		o.Warnings = append(o.Warnings, "there is no IPv6 here: only IPv4 is redirected")
	}
	o.Families = c.IPFamilyMode
	return nil
}

// check chooses the backend, and finds what is missing to use it here.
func (o *Applied) check(s *state, c Config, b Firewall) error {
	var errs *multierror.Error
	if b == Auto {
		chosen, ok := s.choose(c.IPFamilyMode)
		if !ok {
			errs = multierror.Append(errs, errors.New("neither iptables nor nft is there; install the package iptables or nftables"))
		}
		b = chosen
	}
	if o.Backend = b; b != "" {
		for _, name := range toolsOf(b, c.IPFamilyMode) {
			if _, err := find(name); err != nil {
				errs = multierror.Append(errs, err)
			}
		}
	}
	if err := rights(b); err != nil { // without them nothing could be read either
		return multierror.Append(errs, err)
	}
	warnings, err := s.cannotRead(b)
	o.Warnings = append(o.Warnings, warnings...)
	for _, err := range []error{s.faults.ErrorOrNil(), err} {
		if err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	return errs.ErrorOrNil()
}

// Preview is what Install would do where nothing of weft's is yet. It needs no rights,
// and touches nothing.
func Preview(ctx context.Context, c Config, b Firewall) ([]CommandInput, error) {
	var errs *multierror.Error
	if err := c.Validate(); err != nil {
		errs = multierror.Append(errs, err)
	}
	if err := Complete(&c); err != nil {
		errs = multierror.Append(errs, err)
	}
	if err := errs.ErrorOrNil(); err != nil {
		return nil, err
	}
	if b == Auto {
		b, _ = readState(ctx).choose(c.IPFamilyMode)
	}
	return Render(c, b), nil
}

// Uninstall takes away what Install made, by whichever backend. It leaves alone what
// others made, and refuses where both are mixed.
func Uninstall(ctx context.Context) (Applied, error) {
	var out Applied
	if err := rights(Auto); err != nil {
		return out, err
	}
	release, err := alone(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	s := readState(ctx)
	if err := s.faults.ErrorOrNil(); err != nil {
		return out, err
	}
	out.Warnings, _ = s.cannotRead("")
	changed, err := apply(ctx, s.steps(nil, ""))
	out.Changed = changed
	return out, err
}

// cannotRead tells of the places that could not be read: for those of b it is an error.
func (s *state) cannotRead(b Firewall) (warnings []string, _ error) {
	var errs *multierror.Error
	for p, err := range s.unread {
		if p.backend == b {
			errs = multierror.Append(errs, err)
		} else {
			warnings = append(warnings, "rules were not looked for: "+err.Error())
		}
	}
	slices.Sort(warnings)
	return warnings, errs.ErrorOrNil()
}

// apply tests all steps, then takes them. It reports whether there were any.
func apply(ctx context.Context, steps []step) (bool, error) {
	var errs *multierror.Error
	for _, s := range steps {
		if s.test == nil {
			continue
		}
		if _, err := run(ctx, s.text, s.test...); err != nil {
			errs = multierror.Append(errs, fmt.Errorf("nothing was changed: %w%s", err, s.advice()))
		}
	}
	if err := errs.ErrorOrNil(); err != nil {
		return false, err
	}
	for i, s := range steps {
		if _, err := run(ctx, s.text, s.do...); err != nil {
			failed := fmt.Errorf("%w%s", err, s.advice())
			return false, undo(context.WithoutCancel(ctx), steps[:i+1], failed)
		}
	}
	return len(steps) > 0, nil
}

func (s step) advice() string {
	if s.place.family == 6 {
		return "; if this kernel cannot redirect IPv6, give --ip-family-mode ipv4"
	}
	return ""
}

// undo takes back steps, the last first. The last one failed, and may have been taken in
// part, for each table is a transaction of its own: what of it is there is read anew.
func undo(ctx context.Context, steps []step, cause error) error {
	var errs *multierror.Error
	last := len(steps) - 1
	if s := &steps[last]; s.place.family != 0 {
		now, err := readSave(ctx, s.place.backend, s.place.family)
		if err != nil {
			errs = multierror.Append(errs, err)
		} else {
			s.back = restoreText(now.ours, s.before)
		}
	}
	for i := last; i >= 0; i-- {
		s := steps[i]
		if i == last && s.place.family == 0 || s.place.backend != "" && s.back == "" {
			continue // an address or a table is all or nothing, and here it was nothing
		}
		if _, err := run(ctx, s.back, s.undo...); err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	if err := errs.ErrorOrNil(); err != nil {
		return multierror.Append(fmt.Errorf("%w; and it could not be undone: see `weft uninstall transparent-proxy`", cause), errs.Errors...)
	}
	return fmt.Errorf("%w; what was changed is undone", cause)
}

// Describe is one line about an outcome.
func (o Applied) Describe() string {
	families := strings.NewReplacer("dualstack", "IPv4 and IPv6", "ipv4", "IPv4", "ipv6", "IPv6").Replace(string(o.Families))
	switch {
	case !o.Changed:
		return "unchanged"
	case o.Backend == "":
		return "uninstalled"
	}
	return "installed: " + families + " by " + string(o.Backend)
}
