package demo

import (
	"fmt"
)

// step is a few equal requests and what the documents promise about them.
type step struct {
	title, story string
	callers      []string // dataplanes that ask in turn; none: the caller of the world
	host         string   // called through the caller's sidecar
	path         string
	times        int
	statuses     func(i int) int // of request i
	origins      []string        // of the route that matches
	fields       []field         // of the policies that hold
	permission   *decided        // whether the first caller is let in
	apply        []string        // files of documents that change the mesh before, one after the other
	// meanwhile says that requests are on the way while these are applied, none of which may fail.
	meanwhile bool
	// check looks at all answers; it says what to print beside them.
	check func([]Response) (string, error)
}

// field is one field of an effective policy: its value, who set it, and the
// weaker opinions that it overrides.
type field struct {
	kind, path, value, by string
	over                  []string
}

func always(status int) func(int) int { return func(int) int { return status } }

// The split is drawn anew for each request; the bounds are far enough out that
// chance does not reach them.
const (
	splitRequests = 400
	splitLeast    = 10
	splitMost     = 90
)

func customHeader(all []Response) (string, error) {
	a := all[0].answer
	if a == nil || a.Service != "backend" || a.Headers["x-custom-header"] != "xyz" {
		return "", fmt.Errorf("wanted backend to see x-custom-header: xyz, it answers %+v", a)
	}
	return fmt.Sprintf("%s %s saw x-custom-header: xyz", a.Service, a.Version), nil
}

func split(all []Response) (string, error) {
	counts := map[string]int{}
	for _, r := range all {
		if r.answer != nil {
			counts[r.answer.Version]++
		}
	}
	text := fmt.Sprintf("backend 1.0: %d, backend 2.0: %d", counts["1.0"], counts["2.0"])
	if n := counts["2.0"]; counts["1.0"]+n != len(all) || n < splitLeast || n > splitMost {
		return text, fmt.Errorf("a split of 90 to 10 does not give %s", text)
	}
	return text, nil
}

func attempts(all []Response) (string, error) {
	a := all[0].answer
	if a == nil || a.Attempt != flakyFails+1 {
		return "", fmt.Errorf("wanted attempt %d to succeed, got %+v", flakyFails+1, a)
	}
	return fmt.Sprintf("attempt %d succeeded", a.Attempt), nil
}

func once(all []Response) (string, error) {
	a := all[0].answer
	if a == nil || a.Attempt != 1 {
		return "", fmt.Errorf("wanted the first attempt to be the last, got %+v", a)
	}
	return "one attempt", nil
}

func limited(all []Response) (string, error) {
	last := all[len(all)-1]
	if by := last.Headers["x-limited-by"]; by != "limited-rate" {
		return "", fmt.Errorf("wanted x-limited-by: limited-rate from the limit, got %q", by)
	}
	return "x-limited-by: limited-rate", nil
}
