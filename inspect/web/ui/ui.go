// Package ui is weft's GUI as an http.Handler: the built pages of this directory, embedded.
//
// It promises that the pages load nothing from elsewhere and run nothing but their own
// scripts, whatever text a document carries, and that building weft needs no Node: `make ui`
// builds dist, which is committed. It holds no data and so needs no token; the pages send
// theirs to the API.
package ui

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// Base is the path that all addresses of the GUI are under.
const Base = "/gui"

// policy lets the pages run their own scripts, use their own styles and speak to the server
// that they come from, and nothing else; text never becomes markup but by Vue's compiler.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types vue"

// file is one embedded file as it is sent.
type file struct {
	kind  string // Content-Type
	plain []byte
	small func() []byte // the same by gzip, made when first asked for
}

// Handler answers every address at and under Base: a file where there is one, else the page,
// which reads the address itself.
func Handler() http.Handler {
	files := map[string]*file{}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		files[strings.TrimPrefix(name, "dist/")] = &file{kind: mime.TypeByExtension(path.Ext(name)), plain: text, small: sync.OnceValue(func() []byte { return compressed(text) })}
		return nil
	})
	if err != nil || files["index.html"] == nil {
		panic("inspect/web/ui: dist is not what `make ui` builds") // it is part of this program
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, files) })
}

func serve(w http.ResponseWriter, r *http.Request, files map[string]*file) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, r.Method+" is not possible here; use GET, HEAD", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, Base), "/")
	f, hashed := files[name], strings.HasPrefix(name, "assets/")
	switch {
	case f != nil && hashed: // its name changes with its content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	case hashed: // of another version of this program
		http.Error(w, "there is no such file in this version; load the page again", http.StatusNotFound)
		return
	default:
		h.Set("Cache-Control", "no-cache")
		if f == nil {
			f = files["index.html"]
		}
	}
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	text := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		text = f.small()
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(text) // a client that is gone misses nothing
}

func compressed(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
