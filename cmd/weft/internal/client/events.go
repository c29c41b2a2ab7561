package client

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Events tells that something happened on the control plane, until ctx is over
// or the stream ends, which closes the channel. Events that come faster than they
// are taken are one.
func (c *Client) Events(ctx context.Context) (<-chan struct{}, error) {
	at, err := c.at("/_events")
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
	resp, err := (&http.Client{}).Do(req) // without a time limit: it has no end
	if err != nil {
		return nil, c.unanswered(http.MethodGet, "/_events", err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("the control plane answers %d to /_events", resp.StatusCode)
	}
	news := make(chan struct{}, 1)
	go func() {
		defer close(news)
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
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
