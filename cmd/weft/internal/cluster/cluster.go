// Package cluster asks the API server of a cluster on behalf of somebody at a command line.
// It reads what kubectl reads, and answers in plain JSON: client-go's typed clients would
// stand in the memory of every sidecar.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Client asks one API server.
type Client struct {
	http *http.Client
	base *url.URL
	// Skew is how far its clock was ahead of ours at the last answer, to the second.
	Skew time.Duration
}

// Refusal is an answer that is no success.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Status is that of a refusal; 0 for other errors, and for none.
func Status(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}

const (
	patience = 20 * time.Second
	// most is how long an answer may be, in bytes.
	most = 64 << 20
)

// Open reads how the API server is reached: from the file, else from KUBECONFIG and
// ~/.kube/config, as kubectl does; empty for the context is the current one.
func Open(kubeconfig, kubecontext, agent string) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubecontext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster is configured: %w; give --kubeconfig FILE, or set KUBECONFIG", err)
	}
	return For(c, agent)
}

// For asks the API server of a configuration.
func For(c *rest.Config, agent string) (*Client, error) {
	c = rest.CopyConfig(c)
	c.UserAgent, c.Timeout = agent, patience
	out := &Client{}
	var err error
	if out.http, err = rest.HTTPClientFor(c); err != nil {
		return nil, err
	}
	if out.base, _, err = rest.DefaultServerUrlFor(c); err != nil {
		return nil, err
	}
	return out, nil
}

// Get reads the answer to a GET into what into points to.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.send(ctx, http.MethodGet, path, nil, into)
}

// Post sends body as JSON, and reads the answer.
func (c *Client) Post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.send(ctx, http.MethodPost, path, text, into)
}

// List reads all objects of a collection, page by page.
func List[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	var all []T
	for next := ""; ; {
		var page struct {
			Metadata struct{ Continue string }
			Items    []T
		}
		if err := c.Get(ctx, path+"?limit=500&continue="+url.QueryEscape(next), &page); err != nil {
			return all, err
		}
		all = append(all, page.Items...)
		if next = page.Metadata.Continue; next == "" {
			return all, nil
		}
	}
}

// Text is the answer to a GET as it is.
func (c *Client) Text(ctx context.Context, path string) ([]byte, error) {
	var raw []byte
	err := c.send(ctx, http.MethodGet, path, nil, &raw)
	return raw, err
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, into any) error {
	q, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if said, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.Skew = time.Until(said).Round(time.Second)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) != nil || status.Message == "" {
			status.Message = resp.Status
		}
		return &Refusal{resp.StatusCode, status.Message}
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = text
		return nil
	}
	return json.Unmarshal(text, into)
}
