package web

// Patterns are all endpoints of the API, as http.ServeMux knows them.
func Patterns() []string {
	var out []string
	for _, e := range new(server).routes() {
		out = append(out, e.pattern)
	}
	return out
}
