package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/secret"
)

// Rekey seals the Secrets of a store with a new key in the file at path, and says how many there are. It has
// rewrite replace the stored texts of all of a kind, which file names in messages. While it works the file of the key has both, the new one first, so that
// whoever is stopped in between opens everything, and goes on with another call. No control plane
// may run.
func Rekey(catalog *api.Catalog, path string, rewrite func(kind string, reseal func(ref api.Ref, file string, text []byte) ([]byte, error)) (int, error)) (int, error) {
	text, err := secret.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s, which holds the key, is not there; a store without a Secret has none", path)
	}
	if err != nil {
		return 0, err
	}
	if _, err := keysIn(path, text); err != nil {
		return 0, err
	}
	next, rest := "", string(text)
	if strings.Count(strings.TrimSpace(rest), "\n") == 0 {
		fresh, err := secret.New()
		if err != nil {
			return 0, err
		}
		next = string(fresh)
		if err := secret.Replace(path, []byte(next+rest)); err != nil {
			return 0, err
		}
	} else { // one that was stopped
		next, _, _ = strings.Cut(rest, "\n")
		next += "\n"
	}
	v := NewSealer(catalog, path)
	decode := DecodeStored(v.catalog)
	n, err := rewrite(api.KindSecret, func(_ api.Ref, file string, text []byte) ([]byte, error) {
		o, err := decode(file, text)
		if err == nil {
			o, err = v.Open(o)
		}
		if err != nil {
			return nil, err
		}
		return v.Encode(o)
	})
	if err != nil {
		return n, fmt.Errorf("seal Secrets anew: %w; %s holds both keys until another call has ended", err, path)
	}
	return n, secret.Replace(path, []byte(next))
}
