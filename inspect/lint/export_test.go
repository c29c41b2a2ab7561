package lint

import (
	"fmt"
	"strings"
)

// Page is the documentation of all codes.
func Page() string {
	var out strings.Builder
	out.WriteString(`# Findings

What ` + "`weft lint`" + ` finds, by its code. The same codes stand in ` + "`weft validate`, `weft problems`" + `, in warnings of ` + "`weft apply`" + ` and in the
notes of the API. This page is made of the table in ` + "`inspect/lint`" + `: change that one.

` + "```sh\nweft lint -f policies/\nweft lint -f policies/ -o sarif > lint.sarif\nweft lint --ignore LimitPerInstance --strict\n```" + `

Without ` + "`-f`" + ` it looks at the documents that the control plane holds. The exit status is 0; 3 where there is an error, and with ` + "`--strict`" + ` where there is a
warning; with ` + "`--exit-code`" + ` 4 where there is any other finding. A finding that is meant so is silenced where it is: by a comment on its line or right above it, which may say why, or at the
beginning of the document for all of it,

` + "```yaml\n# weft:ignore UnsafeRetry: orders have an idempotency key\nretryOn: [\"5xx\"]\n```" + `

or by the label ` + "`" + LabelIgnore + ": CODE.CODE`" + ` of the object. Errors cannot be silenced.

`)
	for _, r := range table {
		fmt.Fprintf(&out, "## %s\n\n%s.", r.Code, r.Title)
		if r.find != nil || r.Severity != "" {
			fmt.Fprintf(&out, " (%s)", r.Severity)
		}
		fmt.Fprintf(&out, " %s\n\nWhat to do: %s\n\n", r.About, lowerFirst(r.Do))
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// lowerFirst begins a sentence that goes on after a colon.
func lowerFirst(text string) string {
	if len(text) < 2 || text[0] == '`' {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
