package files

import "encoding/json"

// ReadState reads what the process before this one has kept in a file. The error is fs.ErrNotExist
// where it has kept nothing.
func ReadState(file string, into any) error {
	text, err := Read(file, MostDocument)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// WriteState keeps something for the next process: whole or not at all, also where the machine stops.
func WriteState(file string, of any) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return Replace(file, text, Private)
}
