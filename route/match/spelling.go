package match

import "strings"

// PlainlySpelled reports whether a proxy that normalizes paths, and takes several slashes for
// one, leaves the path as it is.
func PlainlySpelled(path string) bool {
	if strings.Contains(path, "//") || strings.Contains(path, `\`) || strings.Contains(path, "#") {
		return false
	}
	for s := range strings.SplitSeq(path, "/") {
		if s == "." || s == ".." {
			return false
		}
	}
	for i := 0; i+2 < len(path); i++ {
		if path[i] != '%' {
			continue
		}
		b := unhex(path[i+1])<<4 | unhex(path[i+2])
		if b == '/' || b == '\\' || b == '-' || b == '.' || b == '_' || b == '~' ||
			b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			return false
		}
	}
	return true
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0
}
