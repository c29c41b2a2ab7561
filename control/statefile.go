package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// readState reads what the control plane before this one has kept in a file of the data directory. The
// error is fs.ErrNotExist where it has kept nothing.
func readState(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// writeState keeps something for the next control plane: whole or not at all, also where the machine
// stops.
func writeState(file string, of any) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	next := file + ".new"
	if err := writeSynced(next, text); err != nil {
		return fmt.Errorf("write %s: %w", next, err)
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("replace %s: %w", file, err)
	}
	return nil
}

func writeSynced(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
