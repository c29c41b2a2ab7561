package envoytest

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"sync"
)

const floodConnections = 8

// Flood sends q in HTTP/1.1 n times over a few connections that stay, or each over one of
// its own where Alone, and calls saw with each answer, one after the other: its body is
// gone, and it is nil where the connection ended without one.
func Flood(address string, q Wire, n int, saw func(*http.Response)) error {
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed error
	text := q.bytes()
	for i := range floodConnections {
		group.Go(func() {
			for left := n/floodConnections + min(1, max(0, n%floodConnections-i)); left > 0; {
				done, err := q.flood(address, text, left, func(r *http.Response) {
					mu.Lock()
					defer mu.Unlock()
					saw(r)
				})
				if left -= done; err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	return failed
}

// flood uses one connection, and says how many requests came to their end before it did.
func (q Wire) flood(address string, text []byte, n int, saw func(*http.Response)) (done int, err error) {
	conn, err := q.dial(address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	for in := bufio.NewReader(conn); done < n; {
		_, unsent := conn.Write(text)
		resp, err := http.ReadResponse(in, &http.Request{Method: q.Method})
		switch {
		case err != nil && q.Alone:
			saw(nil)
			return 1, unlessEnded(err)
		case err != nil && done > 0: // the one that came too late is asked anew
			return done, unlessEnded(err)
		case err != nil:
			return 0, errors.Join(unsent, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return done, err
		}
		saw(resp)
		if done++; resp.Close || q.Alone {
			return done, nil
		}
	}
	return done, nil
}
