package web

// Patterns are all endpoints of the API, as http.ServeMux knows them.
func Patterns() []string {
	var out []string
	for _, e := range newServer(Config{}).routes() {
		out = append(out, e.Pattern)
	}
	return out
}
