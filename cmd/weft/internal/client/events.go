package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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
	return c.stream(ctx, http.MethodGet, path, http.Header{"Last-Event-Id": {last}}, nil)
}

// PostStream sends body as JSON, and returns the stream of events that answers it, until ctx is over.
func (c *Client) PostStream(ctx context.Context, path string, body any) (io.ReadCloser, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return c.stream(ctx, http.MethodPost, path, http.Header{"Content-Type": {"application/json"}}, text)
}

func (c *Client) stream(ctx context.Context, method, path string, header http.Header, body []byte) (io.ReadCloser, error) {
	req, err := c.request(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{}).Do(req) // without a time limit: it has no end
	if err != nil {
		return nil, c.unanswered(method, path, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("the control plane answers %d to %s", resp.StatusCode, path)
	}
	return nil, refusal(resp.StatusCode, answer)
}

// longestEvent is the size of an event, in bytes.
const longestEvent = 1 << 20

// EachEvent takes the events of a stream until it ends, or take returns an error; that of io.EOF is an end
// too. A stream that ends by itself has broken off, which is io.ErrUnexpectedEOF.
func EachEvent(stream io.Reader, take func(event string, data []byte) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, longestEvent)
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := take(event, []byte(data)); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the control plane is not heard any more: %w", err)
	}
	return io.ErrUnexpectedEOF
}

// Address is where the control plane is.
func (c *Client) Address() string { return c.base.Redacted() }
