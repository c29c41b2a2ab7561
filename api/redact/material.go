package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// Material is one value of a Secret. It prints as what it is shown as and never as
// what it is, so that nothing which prints an object can tell it.
type Material struct {
	plain []byte
	known string // how a document names material that it does not hold: shown or sealed; empty where plain is it
}

// The words by which a document names material that it does not hold.
const (
	shownPrefix  = "sha256:"
	sealedPrefix = "sealed:"
)

// NewMaterial is material that holds plain.
func NewMaterial(plain []byte) Material { return Material{plain: append([]byte{}, plain...)} }

// Sealed is material that only the store can open.
func Sealed(sealed []byte) Material {
	return Material{known: sealedPrefix + base64.StdEncoding.EncodeToString(sealed)}
}

// Bytes is the material itself; false where the document only names it. The bytes are
// not to be changed.
func (m Material) Bytes() ([]byte, bool) { return m.plain, m.known == "" }

// Name is how a document names material that it does not hold; empty where it holds it.
func (m Material) Name() string { return m.known }

// Sealed is what a store sealed; false for all else.
func (m Material) Sealed() ([]byte, bool) {
	text, ok := strings.CutPrefix(m.known, sealedPrefix)
	if !ok {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil
}

// Shown is how readers see the material: sha256:<hex> of it.
func (m Material) Shown() string {
	if m.known != "" {
		return m.known
	}
	sum := sha256.Sum256(m.plain)
	return shownPrefix + hex.EncodeToString(sum[:])
}

// MarshalText prints what readers see.
func (m Material) MarshalText() ([]byte, error) { return []byte(m.Shown()), nil }

// ErrEncoding quotes nothing: what is there may be the secret.
var ErrEncoding = errors.New("is not base64; encode the value, or write it under stringData")

// UnmarshalText reads base64, or what stands for material that is elsewhere.
func (m *Material) UnmarshalText(text []byte) error {
	if bytes.HasPrefix(text, []byte(shownPrefix)) || bytes.HasPrefix(text, []byte(sealedPrefix)) {
		*m = Material{known: string(text)}
		return nil
	}
	text = bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' {
			return -1 // lines of a block
		}
		return r
	}, text)
	plain := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(plain, text)
	if err != nil {
		return ErrEncoding
	}
	*m = Material{plain: plain[:n:n]}
	return nil
}

// Equal reports whether readers see the same.
func (m Material) Equal(other Material) bool { return m.Shown() == other.Shown() }
