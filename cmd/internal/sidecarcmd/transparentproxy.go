package sidecarcmd

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// interception is the command line of install transparent-proxy.
type interception struct {
	config                                  intercept.Config
	backend, families                       string
	inPorts, inIPs, outPorts, outIPs, users string
	servers                                 string
	dryRun                                  bool
}

// InstallTransparentProxy is the command that redirects traffic to a sidecar.
func InstallTransparentProxy() *cobra.Command {
	x := interception{config: intercept.Default()}
	c := cli.Command(&cobra.Command{
		Use:   "transparent-proxy",
		Short: "Redirect the traffic of this host or network namespace to its sidecar",
		Long: `Redirects the TCP connections of this host, or of the network namespace that it
runs in, to the sidecar: those that come in, and those that processes open. What the
sidecar itself sends, by its user, is left alone, and so are other UDP and ICMP. DNS is
left alone unless asked.

Everything is checked before anything is touched, a step that fails undoes those
before it, and where the rules are there already nothing changes. It needs the
capability NET_ADMIN, with iptables-legacy NET_RAW too.`,
		Example: `  weft install transparent-proxy --dry-run
  weft install transparent-proxy --exclude-inbound-ports 22 --exclude-outbound-ips 10.0.0.0/8
  weft install transparent-proxy --redirect-dns --exclude-outbound-ports-for-uids 'tcp:22,80:1000-1999;0'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return x.install(c) },
	}, "")
	x.flags(c.Flags())
	for name, words := range map[string][]string{"backend": backends(), "ip-family-mode": {"dualstack", "ipv4", "ipv6"}} {
		cli.Complete(c, name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words, cobra.ShellCompDirectiveNoFileComp
		})
	}
	return c
}

func backends() []string {
	var out []string
	for _, b := range intercept.Backends {
		out = append(out, string(b))
	}
	return out
}

func (x *interception) flags(f *pflag.FlagSet) {
	c := &x.config
	f.Uint32Var(&c.ProxyUID, "proxy-uid", c.ProxyUID, "user that the sidecar runs as")
	f.Uint16Var(&c.InboundPort, "inbound-port", c.InboundPort, "port of the sidecar for what comes in")
	f.Uint16Var(&c.OutboundPort, "outbound-port", c.OutboundPort, "port of the sidecar for what goes out")
	f.BoolVar(&c.RedirectInbound, "redirect-inbound", c.RedirectInbound, "redirect what comes in; false for gateways")
	f.StringVar(&x.inPorts, "exclude-inbound-ports", "", "ports that clients reach directly, such as 22,8000-8100; 9001 and 9902, of the sidecar's probes, always are")
	f.StringVar(&x.inIPs, "exclude-inbound-ips", "", "clients that reach every port directly: addresses and prefixes by comma")
	f.StringVar(&x.outPorts, "exclude-outbound-ports", "", "ports that are called directly")
	f.StringVar(&x.outIPs, "exclude-outbound-ips", "", "addresses and prefixes that are called directly")
	f.StringVar(&x.users, "exclude-outbound-ports-for-uids", "", "ports that some users call directly: [[tcp|udp:]ports:]uids by semicolon, where * is all ports")
	f.BoolVar(&c.RedirectDNS, "redirect-dns", false, "redirect questions to name servers to the sidecar")
	f.StringVar(&x.servers, "dns-servers", "", "name servers whose questions are redirected (default: those of /etc/resolv.conf)")
	f.Uint16Var(&c.DNSPort, "dns-port", c.DNSPort, "port of the sidecar for questions")
	f.StringVar(&x.families, "ip-family-mode", string(c.IPFamilyMode), "dualstack, ipv4 or ipv6")
	f.BoolVar(&c.DropInvalidPackets, "drop-invalid-packets", false, "drop packets of no connection that the kernel knows")
	f.StringVar(&x.backend, "backend", string(intercept.Auto), "program that loads the rules: "+strings.Join(backends(), ", "))
	f.BoolVar(&x.dryRun, "dry-run", false, "print what would be done, and do nothing")
}

// Interception is what flags of InstallTransparentProxy ask for.
func Interception(args []string) (intercept.Config, intercept.Firewall, error) {
	x, f := interception{config: intercept.Default()}, pflag.NewFlagSet("", pflag.ContinueOnError)
	x.flags(f)
	if err := f.Parse(args); err != nil {
		return x.config, "", err
	}
	return x.read()
}

// read takes the texts apart. What is wrong is reported all at once.
func (x *interception) read() (intercept.Config, intercept.Firewall, error) {
	c := x.config
	var errs *multierror.Error
	wrong := func(flag string, err error) {
		for _, e := range cli.Flatten(err) {
			if e != nil {
				errs = multierror.Append(errs, &intercept.InvalidFlag{Flag: flag, Message: e.Error()})
			}
		}
	}
	var err error
	c.ExcludeInboundPorts, err = intercept.ParsePorts(x.inPorts)
	wrong("exclude-inbound-ports", err)
	c.ExcludeInboundIPs, err = intercept.ParsePrefixes(x.inIPs)
	wrong("exclude-inbound-ips", err)
	c.ExcludeOutboundPorts, err = intercept.ParsePorts(x.outPorts)
	wrong("exclude-outbound-ports", err)
	c.ExcludeOutboundIPs, err = intercept.ParsePrefixes(x.outIPs)
	wrong("exclude-outbound-ips", err)
	c.ExcludeOutboundPortsForUIDs, err = intercept.ParseUIDPorts(x.users)
	wrong("exclude-outbound-ports-for-uids", err)
	c.DNSServers, err = intercept.ParseAddrs(x.servers)
	wrong("dns-servers", err)
	c.IPFamilyMode = intercept.IPFamilyMode(x.families)
	if err := c.Validate(); err != nil {
		errs = multierror.Append(errs, err)
	}
	b, err := intercept.ParseBackend(x.backend)
	if err != nil {
		errs = multierror.Append(errs, err)
	}
	if err := errs.ErrorOrNil(); err != nil {
		return c, b, &cli.Exit{Status: cli.StatusUsage, Err: err}
	}
	return c, b, nil
}

func (x *interception) install(cmd *cobra.Command) error {
	c, b, err := x.read()
	if err != nil {
		return err
	}
	if x.dryRun {
		inputs, err := intercept.Preview(cmd.Context(), c, b)
		for _, in := range inputs {
			fmt.Fprint(cmd.OutOrStdout(), in)
		}
		return err
	}
	done, err := intercept.Install(cmd.Context(), c, b)
	return intercepted(cmd, done, err)
}

// intercepted tells what was done.
func intercepted(c *cobra.Command, done intercept.Applied, err error) error {
	for _, w := range done.Warnings {
		fmt.Fprintln(c.ErrOrStderr(), c.Root().Name()+": warning: "+w)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), done.Describe())
	return nil
}

// UninstallTransparentProxy is the command that takes away what InstallTransparentProxy did.
func UninstallTransparentProxy() *cobra.Command {
	return cli.Command(&cobra.Command{
		Use:   "transparent-proxy",
		Short: "Redirect nothing to the sidecar any more",
		Long: `Takes away the rules of weft, whichever backend installed them. Rules of others
stay as they are; where they stand in chains of weft's names it refuses and names them.`,
		Example: "  weft uninstall transparent-proxy",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := intercept.Uninstall(c.Context())
			return intercepted(c, done, err)
		},
	}, "")
}
