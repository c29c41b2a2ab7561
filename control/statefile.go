package control

import (
	"encoding/json"

	"github.com/weftmesh/weft/files"
)

// readState reads what the control plane before this one has kept in a file of the data directory. The
// error is fs.ErrNotExist where it has kept nothing.
func readState(file string, into any) error {
	text, err := files.Read(file, files.MostDocument)
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
	return files.Replace(file, text, files.Private)
}
