package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// etag names what an object says: by its version at the API server that it was read from,
// elsewhere by the revision at which it last changed. Revisions of what was read from an
// API server count what one process has seen, and another control plane has seen other.
func ETag(o *api.Object) string {
	if o.ResourceVersion != "" {
		return strconv.Quote(o.ResourceVersion)
	}
	return `"` + strconv.FormatUint(o.Revision, 10) + `"`
}

// Preconditions are those of a request (RFC 9110, 13.1), If-Match and If-None-Match, about the object
// ref as it stands when the writes are done: the error is why they do not hold.
func Preconditions(r *http.Request, ref api.Ref) func(now *snapshot.Snapshot) error {
	match, none := header(r, "If-Match"), header(r, "If-None-Match")
	return func(now *snapshot.Snapshot) error {
		o, _ := now.Get(ref)
		switch {
		case match != "" && o == nil:
			return FailedPrecondition(fmt.Sprintf("there is no %s any more; create it without If-Match", ref))
		case match != "" && !names(match, o, false):
			return FailedPrecondition(fmt.Sprintf("%s is at %s and not at %s: somebody changed it meanwhile; read it again, and repeat the change", ref, ETag(o), match))
		case none != "" && o != nil && names(none, o, true):
			return FailedPrecondition(fmt.Sprintf("%s is there already, at %s; change it with If-Match", ref, ETag(o)))
		}
		return nil
	}
}

// header is a list header as one line.
func header(r *http.Request, name string) string { return strings.Join(r.Header.Values(name), ", ") }

// names reports whether a list of entity tags, or *, holds that of o. A weak tag
// matches only where weak comparison is asked for.
func names(list string, o *api.Object, weak bool) bool {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if weak {
			tag = strings.TrimPrefix(tag, "W/")
		}
		if tag == "*" || tag == ETag(o) {
			return true
		}
	}
	return false
}

// Unconditional refuses preconditions where there is no one object that they
// could be about.
func Unconditional(r *http.Request) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if header(r, name) != "" {
			return BadField("", name+" is about one object; send it with PUT or DELETE of that object")
		}
	}
	return nil
}
