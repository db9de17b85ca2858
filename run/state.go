package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pate-go/pate/internal/durable"
)

// ReadState reads the file with the progress of a run, if it exists. The file is an object with the [ID] of
// its run as id; the file of another run is refused.
func ReadState(path, id string, state any) error {
	durable.Sweep(path, "") // of killed processes: the folder is the caller's
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var of struct {
		ID string `json:"id"`
	}
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err == nil && of.ID != id {
		return OtherRun(path+" holds another run, on other data or with other settings", nil, mixes,
			"choose another folder, or repeat that command")
	}
	if err == nil {
		err = json.Unmarshal(text, state)
	}
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// WriteState writes the file for [ReadState]. It is as secret as the data.
func WriteState(path string, state any) error {
	text, err := json.Marshal(state)
	if err == nil {
		err = durable.WriteBytes(path, 0o600, text)
	}
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}
