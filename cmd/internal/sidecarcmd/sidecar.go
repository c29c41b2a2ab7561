// Package sidecarcmd has the commands of a sidecar: those by which it is run, by which the hooks of
// its pod speak to it, and by which traffic is redirected to it. Both programs have them, weft
// and weft-agent.
package sidecarcmd

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/sidecar/agent"
	"github.com/weftmesh/weft/sidecar/probes"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/server/authority/spire"
)

// Program is what the commands of a sidecar need of the program that has them.
type Program struct {
	Version string
	// Documents reads those of a file, and prints what is doubtful about them. One that is
	// wrong is an error.
	Documents func(file string) ([]*api.Object, error)
}

// catalog has the kind that a sidecar brings along.
var catalog = api.NewCatalog(api.Types()...)

// New is the command that runs a sidecar.
func New(p Program, group string) *cobra.Command {
	x := NewLine(p)
	c := cli.Command(&cobra.Command{
		Use:   "sidecar",
		Short: "Run Envoy beside a workload",
		Long: `Gets Envoy's bootstrap from the control plane, starts Envoy, keeps it running
and, at the end, drains it before it stops.

Envoy is found by --envoy, then WEFT_ENVOY, then PATH, then .tools here or beside the program, where
"make tools" puts it. Every flag may be given as WEFT_ and its name in the environment,
as WEFT_TOKEN_FILE; the authority also as PEM in WEFT_CA_CERT. Where a
MeshIdentity has a provider of type Spire, SPIFFE_ENDPOINT_SOCKET says where
the agent of that SPIRE serves the Workload API.`,
		Example: `  weft sidecar --name web-1 --dataplane-file web-1.yaml --token-file web-1.token --ca-file weft-data/ca.pem
  weft sidecar --xds http://127.0.0.1:5678 --name web-1 --token-file web-1.token`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := x.Read(c); err != nil {
				return err
			}
			log, err := cli.NewLogger(c.ErrOrStderr(), x.format, x.level)
			if err != nil {
				return err
			}
			if err := cli.WithoutCoreDump(); err != nil {
				log.Warn("keys may come into core dumps", "error", err)
			}
			return agent.New(x.Config, log).Run(c.Context())
		},
	}, group)
	x.Flags(c)
	c.AddCommand(newDrain(), newWait())
	return c
}

// Line is the command line of a sidecar.
type Line struct {
	Config                     agent.Config
	program                    Program
	file, format, level, asked string
}

// NewLine is the one without flags.
func NewLine(p Program) *Line { return &Line{Config: agent.Default(), program: p} }

// Flags are its flags.
func (x *Line) Flags(c *cobra.Command) {
	f, config := c.Flags(), &x.Config
	f.StringVar(&config.XDS, "xds", config.XDS, "control plane's address for sidecars")
	f.StringVar(&config.XDSFallback, "xds-fallback", "", "IP address of the control plane, where the name of --xds cannot be resolved")
	f.StringVarP(&config.Mesh, "mesh", "m", cli.UsualMesh(), "mesh of the dataplane; else that of --dataplane-file, else WEFT_MESH, else default")
	f.StringVar(&config.Name, "name", "", "name of the dataplane (default: that of --dataplane-file)")
	f.StringVar(&x.file, "dataplane-file", "", "Dataplane document to bring along; without it the control plane must have one")
	f.StringVar(&config.TokenFile, "token-file", "", "file with the dataplane token")
	f.StringVar(&config.CAFile, "ca-file", "", "authority of the control plane (its data directory has it as ca.pem)")
	f.StringVar(&config.StateDir, "state-dir", "", "directory that nobody else may write, which keeps across restarts what the control plane sent of its authorities (default: nothing is kept)")
	f.StringVar(&config.LogDir, "access-log-dir", config.LogDir, "directory with files of access logs, which MeshAccessLog names as "+bootstrap.LogDirectory+"/FILE; it has to be there")
	f.StringVar(&config.Envoy, "envoy", "", "Envoy's binary")
	f.Uint32Var(&config.AdminPort, "admin-port", 0, "port of Envoy's administration on loopback, where every user of the host reaches it; 0 is a socket that is this sidecar's alone")
	f.StringVar(&config.Readiness, "readiness", config.Readiness, "address of this agent's /readyz; port 0 is any")
	f.StringVar(&config.DNS, "dns", "", "loopback address at which names of the mesh are resolved, such as localhost:15053, and all others by the nameservers of /etc/resolv.conf (default off)")
	f.IntVar(&config.Concurrency, "concurrency", 0, "worker threads of Envoy; 0 is one for each core")
	f.DurationVar(&config.DrainTime, "drain-time", 30*time.Second, "how long Envoy goes on answering after SIGTERM")
	config.LogLevel = ""
	f.StringVar(&config.LogLevel, "envoy-log-level", "", "what Envoy logs: trace, debug, info, warning, error, critical or off (default: by --log-level)")
	f.StringVar(&config.ComponentLogLevel, "envoy-component-log-level", "", "what components of Envoy log: upstream:debug,router:trace")
	f.StringVar(&x.asked, "probes", "", "probes to answer in the place of the workload, as JSON; injection writes it")
	cli.LogFlags(c, &x.format, &x.level)
}

// Read takes it apart, with what the environment says.
func (x *Line) Read(c *cobra.Command) error {
	typed := map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { typed[f.Name] = true })
	if err := cli.Layer(c.Flags(), ""); err != nil {
		return err
	}
	if err := surroundings(&x.Config, x.asked, typed["envoy"]); err != nil {
		return err
	}
	if x.Config.LogLevel == "" {
		x.Config.LogLevel = envoyLevel(x.level)
	}
	x.Config.Version = x.program.Version
	if err := x.readDataplane(func(flag string) bool { return typed[flag] }); err != nil {
		return err
	}
	if x.Config.Name == "" {
		return cli.Usage("--name is missing; name the dataplane, or give --dataplane-file")
	}
	return nil
}

// surroundings are what the pod around a sidecar says in its environment.
func surroundings(config *agent.Config, asked string, envoy bool) error {
	if !envoy {
		config.Envoy = "" // WEFT_ENVOY is looked at where Envoy is looked for
	}
	config.CA = []byte(os.Getenv("WEFT_CA_CERT"))
	if config.WorkloadAPI = os.Getenv(spire.Variable); config.WorkloadAPI != "" {
		if err := spire.Check(config.WorkloadAPI); err != nil {
			return cli.Usage("%v", err)
		}
	}
	if asked != "" {
		var err error
		if config.Probes, err = probes.Parse(asked); err != nil {
			return cli.Usage("--probes: %v; leave it to injection", err)
		}
	}
	for ip := range strings.SplitSeq(os.Getenv("POD_IPS"), ",") {
		if ip = strings.TrimSpace(ip); ip == "" {
			continue
		}
		parsed, err := netip.ParseAddr(ip)
		if err != nil {
			return cli.Usage("POD_IPS: %q is no address; leave it to injection", ip)
		}
		config.PodIPs = append(config.PodIPs, parsed)
	}
	return nil
}

// readDataplane takes the document, and mesh and name from it unless flags give them.
func (x *Line) readDataplane(given func(string) bool) error {
	file, config := x.file, &x.Config
	if file == "" {
		return nil
	}
	objects, err := x.program.Documents(file)
	if err != nil {
		return err
	}
	if n := len(objects); n != 1 || objects[0].Kind != api.KindDataplane {
		return cli.Usage("--dataplane-file %s: it holds %s; write a single Dataplane", file, documents(n))
	}
	o := objects[0]
	if given("mesh") && config.Mesh != o.Mesh || given("name") && config.Name != o.FullName() {
		return cli.Usage("--dataplane-file %s: it is %s, and --mesh or --name say otherwise; leave them out", file, o.Ref)
	}
	config.Mesh, config.Name = o.Mesh, o.FullName()
	if config.Dataplane, err = decode.PrintJSON(catalog, o); err != nil {
		return fmt.Errorf("--dataplane-file %s: %w", file, err)
	}
	return nil
}

func documents(n int) string {
	if n == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", n)
}

// envoyLevel is Envoy's word for a log level.
func envoyLevel(level string) string {
	switch level {
	case "warn":
		return "warning"
	case "info":
		return "warning" // Envoy's own info lines are many
	}
	return level
}
