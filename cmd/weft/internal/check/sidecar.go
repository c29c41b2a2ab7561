package check

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/sidecar/agent"
	"github.com/weftmesh/weft/sidecar/intercept"
)

const groupSidecar = "sidecar"

// patience is how long a program or a control plane may take.
const patience = 10 * time.Second

// Sidecar is what a host outside of clusters is looked at for.
type Sidecar struct {
	agent.Config
	// TransparentProxy is whether its traffic is to be redirected to the sidecar.
	TransparentProxy bool
}

// OfSidecar are the checks of a host and its sidecar.
func OfSidecar() []Check {
	return []Check{
		{Group: groupSidecar, Code: "Envoy", Says: "Envoy is found and runs here", run: findsEnvoy,
			Hint: "give its binary by --envoy or WEFT_ENVOY, of this machine's architecture"},
		{Group: groupSidecar, Code: "SidecarPorts", Says: "the ports of the sidecar are free", run: portsFree,
			Hint: "stop what listens there, or give the sidecar or the Dataplane other ports; the workload listens at its servicePort, or at another address than the inbound's"},
		{Group: groupSidecar, Code: "SidecarToken", Says: "the token can be read and has not ended", run: tokenGood,
			Hint: "issue another by `weft token dataplane`, and put it into the file of --token-file, which the sidecar's user can read"},
		{Group: groupSidecar, Code: "CAFile", Says: "the authority of the control plane can be read and has not ended", run: authorityGood,
			Hint: "copy ca.pem out of the control plane's data directory into the file of --ca-file"},
		{Group: groupSidecar, Code: "XDS", Says: "the control plane answers at --xds, and is the one of --ca-file", run: reaches,
			Hint: "look whether `weft serve` runs and listens at an address that this host reaches, and whose name its certificate has"},
		{Group: groupSidecar, Code: "SidecarAccepted", Says: "the control plane takes the token", run: accepted,
			Hint: "issue a token for this name and mesh by `weft token dataplane`"},
		{Group: groupSidecar, Code: "Clock", Says: "the clocks here and there agree", run: sidecarClock,
			Hint: "certificates and tokens are taken for too new or too old: set the clocks"},
		{Group: groupSidecar, Code: "TransparentProxy", Says: "traffic can be redirected to the sidecar", run: redirects,
			Hint: "see `weft install transparent-proxy --dry-run`; it runs as root"},
	}
}

func findsEnvoy(ctx context.Context, q *question) finding {
	path, err := agent.FindEnvoy(q.Sidecar.Envoy)
	if err != nil {
		return says(Error, "%s", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return says(Error, "%s does not run: %s", path, err)
	}
	for part := range strings.SplitSeq(string(text), "/") {
		if strings.Count(part, ".") == 2 && part[0] >= '0' && part[0] <= '9' {
			return says(OK, "%s, version %s", path, part)
		}
	}
	return says(Error, "%s does not say that it is Envoy", path)
}

// portsFree tries each address that the sidecar listens at. One that runs already has taken its own.
func portsFree(ctx context.Context, q *question) finding {
	c := q.Sidecar
	var all []string
	add := func(network, address string) { all = append(all, network+" "+address) }
	add("tcp", c.Readiness)
	if c.DNS != "" {
		add("tcp", c.DNS)
		add("udp", c.DNS)
	}
	if c.AdminPort != 0 {
		add("tcp", net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(c.AdminPort), 10)))
	}
	listens, err := envoyListens(c.Dataplane)
	if err != nil {
		return says(Error, "%s", err)
	}
	for _, a := range listens {
		add("tcp", a)
	}
	if c.TransparentProxy {
		d := intercept.Default()
		add("tcp", fmt.Sprintf("0.0.0.0:%d", d.InboundPort))
		add("tcp", fmt.Sprintf("0.0.0.0:%d", d.OutboundPort))
	}
	var taken []string
	for _, a := range all {
		network, address, _ := strings.Cut(a, " ")
		if err := listenOnce(ctx, network, address); errors.Is(err, syscall.EACCES) {
			taken = append(taken, a+" (this user may not; try as the sidecar's)")
		} else if err != nil {
			taken = append(taken, fmt.Sprintf("%s (%s)", a, cmp.Or(errno(err), err.Error())))
		}
	}
	switch {
	case len(taken) == 0:
		return fine()
	case runsAt(ctx, c.Readiness):
		return says(Skipped, "a sidecar runs at %s already", c.Readiness)
	}
	return says(Error, "not at %s", strings.Join(taken, ", "))
}

// errno is the reason of the system alone.
func errno(err error) string {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e.Error()
	}
	return ""
}

func listenOnce(ctx context.Context, network, address string) error {
	var of net.ListenConfig
	if network == "udp" {
		c, err := of.ListenPacket(ctx, network, address)
		if err == nil {
			return c.Close()
		}
		return err
	}
	l, err := of.Listen(ctx, network, address)
	if err == nil {
		return l.Close()
	}
	return err
}

// envoyListens are the addresses at which Envoy listens by a Dataplane document.
func envoyListens(document []byte) (out []string, err error) {
	var d struct {
		Networking api.Networking `json:"networking"`
	}
	if len(document) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("--dataplane-file: %w", err)
	}
	n := &d.Networking
	if n.TransparentProxying != nil {
		return nil, nil
	}
	for i := range n.Inbound {
		out = append(out, net.JoinHostPort(cmp.Or(n.Inbound[i].Address, n.Address), strconv.FormatUint(uint64(n.Inbound[i].Port), 10)))
	}
	for i := range n.Outbound {
		out = append(out, net.JoinHostPort(cmp.Or(n.Outbound[i].Address, "127.0.0.1"), strconv.FormatUint(uint64(n.Outbound[i].Port), 10)))
	}
	return out, nil
}

// runsAt reports whether an agent answers there.
func runsAt(ctx context.Context, readiness string) bool {
	if _, port, err := net.SplitHostPort(readiness); err != nil || port == "0" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+readiness+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(ask)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func tokenGood(_ context.Context, q *question) finding {
	if q.Sidecar.TokenFile == "" {
		return says(Skipped, "--token-file is not given: the control plane has to be one without --dataplane-auth token")
	}
	switch ends, err := agent.TokenEnds(q.Sidecar.TokenFile); {
	case err != nil:
		return says(Error, "%s", err)
	case ends.IsZero():
		return says(Warning, "%s says of no end, so that it may be no dataplane token", q.Sidecar.TokenFile)
	case !q.Now.Before(ends):
		return says(Error, "it has ended at %s", ends.UTC().Format(time.RFC3339))
	default:
		return says(OK, "it ends at %s", ends.UTC().Format(time.RFC3339))
	}
}

func authorityGood(_ context.Context, q *question) finding {
	text := q.Sidecar.CA
	if strings.HasPrefix(q.Sidecar.XDS, "http://") {
		return says(Skipped, "--xds is plain text")
	}
	if q.Sidecar.CAFile != "" {
		var err error
		if text, err = files.Read(q.Sidecar.CAFile, files.MostSecret); err != nil {
			return says(Error, "--ca-file: %s", err)
		}
	}
	holds, good := 0, 0
	var last time.Time
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return says(Error, "it holds what is no certificate: %s", err)
		}
		if holds++; q.Now.Before(c.NotAfter) {
			good++
		}
		if c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	switch {
	case holds == 0:
		return says(Error, "it holds no certificate")
	case good == 0:
		return says(Error, "all that it holds has ended, the last at %s", last.UTC().Format(time.RFC3339))
	}
	return fine()
}

func reaches(ctx context.Context, q *question) finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reached, err := agent.CheckControlPlane(ctx, q.Sidecar.Config)
	if err != nil {
		return says(Error, "%s", err)
	}
	q.reached = &reached
	if reached.Status == http.StatusNotFound {
		return says(Error, "who answers at %s is no address of weft for sidecars", q.Sidecar.XDS)
	}
	return fine()
}

// accepted goes by what is answered to a request for a certificate that has no key: only whose token
// is taken is told that.
func accepted(_ context.Context, q *question) finding {
	switch {
	case q.reached == nil || q.reached.Status == http.StatusNotFound:
		return says(Skipped, "the control plane was not reached")
	case q.reached.Status == http.StatusForbidden && strings.Contains(q.reached.Says, api.CodeNoProof):
		return says(Skipped, "%s", q.reached.Says)
	case q.reached.Status == http.StatusForbidden || q.reached.Status == http.StatusUnauthorized:
		return says(Error, "it says: %s", q.reached.Says)
	case q.reached.Status >= http.StatusInternalServerError && len(q.Sidecar.Dataplane) == 0:
		return says(Warning, "it says: %s", q.reached.Says)
	}
	return fine()
}

func sidecarClock(_ context.Context, q *question) finding {
	if q.reached == nil || q.reached.Clock.IsZero() {
		return says(Skipped, "the control plane did not tell its time")
	}
	if apart := q.reached.Clock.Sub(q.Now).Truncate(time.Second); apart.Abs() > mostSkew {
		return says(Error, "the control plane's is %v ahead", apart)
	}
	return fine()
}

func redirects(ctx context.Context, q *question) finding {
	if !q.Sidecar.TransparentProxy {
		return says(Skipped, "--transparent-proxy is not given")
	}
	out, err := intercept.Check(ctx, intercept.Default(), intercept.Auto)
	if err != nil {
		return says(Error, "%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if len(out.Warnings) > 0 {
		return says(Warning, "%s", strings.Join(out.Warnings, "; "))
	}
	return says(OK, "by %s", out.Backend)
}
