package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Events tells that something happened on the control plane, until ctx is over
// or the stream ends, which closes the channel. Events that come faster than they
// are taken are one.
func (c *Client) Events(ctx context.Context) (<-chan struct{}, error) {
	stream, err := c.Stream(ctx, "/_events", "")
	if err != nil {
		return nil, err
	}
	news := make(chan struct{}, 1)
	go func() {
		defer close(news)
		defer stream.Close()
		for lines := bufio.NewScanner(stream); lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "event: ") {
				continue
			}
			select {
			case news <- struct{}{}:
			default:
			}
		}
	}()
	return news, nil
}

// Stream is a stream of events behind that of the id last, until ctx is over; empty is none.
func (c *Client) Stream(ctx context.Context, path, last string) (io.ReadCloser, error) {
	at, err := c.at(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for events: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := (&http.Client{}).Do(req) // without a time limit: it has no end
	if err != nil {
		return nil, c.unanswered(http.MethodGet, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("the control plane answers %d to %s", resp.StatusCode, path)
	}
	return resp.Body, nil
}

// Address is where the control plane is.
func (c *Client) Address() string { return c.base.Redacted() }
