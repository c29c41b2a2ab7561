package sidecarcmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// hook is the command line of what a pod's hooks run beside the sidecar.
type hook struct {
	at   string
	wait bool
	most time.Duration
}

func (h *hook) flags(c *cobra.Command, most time.Duration, about string) {
	c.Flags().StringVar(&h.at, "readiness", "127.0.0.1:9902", "address at which the sidecar of this host or pod answers")
	c.Flags().DurationVar(&h.most, "timeout", most, about)
}

func newDrain() *cobra.Command {
	var h hook
	c := cli.Command(&cobra.Command{
		Use:   "drain",
		Short: "Have the sidecar finish what came in, and take no more",
		Long: `Tells the sidecar of this host or pod that its workload is going to end: it says that
it is not ready, and its Envoy closes connections that came in after their requests.
What the workload calls goes on. It returns at once, or with --wait when nothing is
under way any more or the sidecar's drain time is over.`,
		Example: "  weft sidecar drain\n  weft sidecar drain --wait",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return h.drain(c.Context()) },
	}, "")
	h.flags(c, 10*time.Minute, "how long --wait waits at most")
	c.Flags().BoolVar(&h.wait, "wait", false, "return when nothing is under way")
	return c
}

func newWait() *cobra.Command {
	var h hook
	c := cli.Command(&cobra.Command{
		Use:     "wait",
		Short:   "Wait until the sidecar is ready",
		Long:    "Waits until the sidecar of this host or pod has its configuration, so that what starts afterwards can call others.",
		Example: "  weft sidecar wait\n  weft sidecar wait --timeout 30s",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), h.most)
			defer cancel()
			return h.until(ctx, "/readyz")
		},
	}, "")
	h.flags(c, 10*time.Minute, "how long to wait at most")
	return c
}

func (h *hook) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.most)
	defer cancel()
	if err := h.ask(ctx, http.MethodPost, "/drain"); err != nil || !h.wait {
		return err
	}
	return h.until(ctx, "/drained")
}

// until asks again until the answer is good.
func (h *hook) until(ctx context.Context, path string) error {
	for {
		err := h.ask(ctx, http.MethodGet, path)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask asks the sidecar, which answers 200 or says why not.
func (h *hook) ask(ctx context.Context, method, path string) error {
	one, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(one, method, "http://"+h.at+path, nil)
	if err != nil {
		return cli.Usage("--readiness %q is no address; write HOST:PORT", h.at)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the sidecar: %w; name its address with --readiness", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the sidecar at %s: %s", h.at, strings.TrimSpace(string(text)))
	}
	return err
}
