package route

import "strings"

// Decisive are the redirect and the rewrite that hold: the last of each.
func Decisive(filters []Filter) (redirect *Redirect, rewrite *Rewrite) {
	for i := range filters {
		if f := &filters[i]; f.Redirect != nil {
			redirect = f.Redirect
		} else if f.Rewrite != nil {
			rewrite = f.Rewrite
		}
	}
	return redirect, rewrite
}

// Absolute is path as a request may carry it.
func Absolute(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}
