package storage

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/xds/server/secret"
)

// SecretsKeyFile, in the data directory, is the key under which Secrets are sealed in
// the store (spec/identity.md 2.1).
const SecretsKeyFile = "secrets-key"

// Sealer seals what Secrets hold where it is stored, by AES-256-GCM, with the object's ref
// and the name of the value as additional data: what is moved to another place does not
// open there. The key is made with the first Secret, and never again while one is there.
type Sealer struct {
	catalog *api.Catalog // of what is stored
	path    string
	mu      sync.Mutex
	aeads   []cipher.AEAD // the first one seals, and all open: while a store is sealed anew there are two
}

// NewSealer seals what a catalog has with the key in a file.
func NewSealer(catalog *api.Catalog, path string) *Sealer {
	return &Sealer{catalog: catalog, path: path}
}

// DecodeStored reads one document that the store holds. It was valid when it
// was stored; if it is not now, the store says so.
func DecodeStored(by *api.Catalog) func(name string, text []byte) (*api.Object, error) {
	return func(name string, text []byte) (*api.Object, error) {
		objects, err := decode.Objects(by, name, text)
		if api.Refuses(err) || len(objects) != 1 {
			return nil, fmt.Errorf("not understood: %w", err)
		}
		return objects[0], nil
	}
}

// Encode writes an object as the store keeps it.
func (v *Sealer) Encode(o *api.Object) ([]byte, error) {
	s, ok := o.Spec.(*api.Secret)
	if !ok || len(s.Data) == 0 {
		return decode.PrintJSON(v.catalog, o)
	}
	keys, err := v.keys(secret.New)
	if err != nil {
		return nil, err
	}
	aead := keys[0]
	sealed, spec := *o, *s
	spec.Data = maps.Clone(s.Data)
	for name, m := range s.Data {
		plain, here := m.Bytes()
		if !here {
			return nil, fmt.Errorf("%s: the value %s is not there to be stored", o.Ref, name)
		}
		nonce := make([]byte, aead.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return nil, err
		}
		spec.Data[name] = redact.Sealed(aead.Seal(nonce, nonce, plain, place(o, name)))
	}
	sealed.Spec = &spec
	return decode.PrintJSON(v.catalog, &sealed)
}

// Open gives a stored object what it holds.
func (v *Sealer) Open(o *api.Object) (*api.Object, error) {
	s, ok := o.Spec.(*api.Secret)
	if !ok || len(s.Data) == 0 {
		return o, nil
	}
	keys, err := v.keys(nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s, which holds the key, is gone; restore it from a backup", v.path)
	}
	if err != nil {
		return nil, err
	}
	open, spec := *o, *s
	spec.Data = maps.Clone(s.Data)
	for name, m := range s.Data {
		text, ok := m.Sealed()
		if !ok || len(text) < keys[0].NonceSize() {
			return nil, fmt.Errorf("the value %s is not sealed", name)
		}
		plain, err := unseal(keys, text, place(o, name))
		if err != nil {
			return nil, fmt.Errorf("the value %s does not open with the key in %s; restore the key that it was sealed with", name, v.path)
		}
		spec.Data[name] = redact.NewMaterial(plain)
	}
	open.Spec = &spec
	return &open, nil
}

// place is where a sealed value belongs.
func place(o *api.Object, name string) []byte { return []byte(o.Ref.String() + "/" + name) }

// unseal opens a sealed value by the key that it was sealed with.
func unseal(keys []cipher.AEAD, text, place []byte) (plain []byte, err error) {
	for _, k := range keys {
		if plain, err = k.Open([]byte{}, text[:k.NonceSize()], text[k.NonceSize():], place); err == nil {
			return plain, nil
		}
	}
	return nil, err
}

// keys reads the keys, or keeps the one that create makes where there is none.
func (v *Sealer) keys(create func() ([]byte, error)) ([]cipher.AEAD, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.aeads != nil {
		return v.aeads, nil
	}
	var text []byte
	var err error
	if create == nil {
		text, err = secret.Read(v.path)
	} else {
		text, err = secret.Load(v.path, create)
	}
	if err != nil {
		return nil, err
	}
	v.aeads, err = keysIn(v.path, text)
	return v.aeads, err
}

// keysIn are the keys of a file, one a line.
func keysIn(path string, text []byte) (out []cipher.AEAD, err error) {
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		raw, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil || len(raw) != 32 {
			return nil, fmt.Errorf("%s: it is no key for Secrets, which has 64 hexadecimal digits; restore it from a backup", path)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		out = append(out, aead)
	}
	return out, nil
}
