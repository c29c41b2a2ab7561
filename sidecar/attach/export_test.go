package attach

// Expressions are what a line is matched with, and what stands where one matches.
func Expressions(line []byte, after bool) ([]byte, bool) {
	line = privateKey.ReplaceAll(line, []byte(Redacted))
	line = jwt.ReplaceAll(line, []byte(Redacted))
	line = credential.ReplaceAll(line, []byte("$1 "+Redacted))
	line = field.ReplaceAll(line, []byte(`$1"`+Redacted+`"`))
	at := header.Match(line)
	if at || after {
		line = value.ReplaceAll(line, []byte(`$1"`+Redacted+`"`))
	}
	return line, at
}
