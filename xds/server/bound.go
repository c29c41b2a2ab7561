package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What one stream may ask for. The library keeps every name for as long as the
// stream lives, whether or not there is such a resource.
const (
	// mostNames of one type: several times what a sidecar with thousands of
	// outbounds, each split into subsets, asks for.
	mostNames = 32 << 10
	// longestName is well beyond two names of Kubernetes with a port and a hash.
	longestName = 1 << 10
)

// request is one of either form.
type request interface {
	comparable
	GetTypeUrl() string
}

// next is the request that was read already, or the next one of a type that
// there is something of: requests of other types are never answered, and the
// engine would keep each for good. It refuses those without a type itself.
func next[Q request](first *Q, recv func() (Q, error)) (Q, error) {
	var none Q
	q := *first
	*first = none
	for {
		if q == none {
			var err error
			if q, err = recv(); err != nil {
				return none, err
			}
		}
		if _, ok := kindOf(q.GetTypeUrl()); ok || q.GetTypeUrl() == "" {
			return q, nil
		}
		q = none
	}
}

// bound ends the stream if one request asks for too much.
func (st *stream) bound(names []string, versions map[string]string) error {
	err := tooMany(max(len(names), len(versions)))
	for _, name := range names {
		if len(name) > longestName {
			err = errLong
		}
	}
	for name, version := range versions {
		if max(len(name), len(version)) > longestName {
			err = errLong
		}
	}
	if err != nil {
		st.end(err) // the engine takes an error of its stream for a good end
	}
	return err
}

var errLong = status.Errorf(codes.ResourceExhausted, "the name of a resource is longer than %d bytes; weft has none such", longestName)

// tooMany refuses n names of one type.
func tooMany(n int) error {
	if n <= mostNames {
		return nil
	}
	return status.Errorf(codes.ResourceExhausted, "%d names of one type are more than the %d that a stream may ask for; ask for those that the listeners and clusters name", n, mostNames)
}
