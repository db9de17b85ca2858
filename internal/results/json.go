package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteJSON writes a value to the place of a result.
func (f Folder) WriteJSON(releasable bool, name string, v any) error {
	err := f.Write(releasable, name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
	if err != nil {
		return fmt.Errorf("results: %s: %w", name, err)
	}
	return nil
}

// ReadJSON reads a file of WriteJSON from a complete run, if it has this schema.
func (f Folder) ReadJSON(name, schema string, v any) error {
	path, err := f.Find(name)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := errors.Join(json.Unmarshal(text, &head), json.Unmarshal(text, v)); err != nil {
		return fmt.Errorf("results: %s: %w", path, err)
	}
	if head.Schema != schema {
		return fmt.Errorf("results: %s has schema %q, not %q", path, head.Schema, schema)
	}
	return nil
}

// WriteAccount writes the charges of a row. The form has no mark for a seeded run, so the file name has it.
func (f Folder) WriteAccount(name string, seeded bool, account any) error {
	if seeded {
		name = "seeded-" + name
	}
	return f.WriteJSON(!seeded, filepath.Join("accounts", name+".json"), account)
}

// timesFile has the running times of a run. They come from work on private rows, so they stay private.
const timesFile = "seconds.json"

// KeepTimes keeps the running times of the run and of every row in the private half.
func (f Folder) KeepTimes(all float64, rows []float64) error {
	text, err := json.Marshal(append([]float64{all}, rows...))
	if err == nil {
		err = f.Keep(timesFile, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// Times returns the times that KeepTimes kept of that number of rows; zeros if there are none.
func (f Folder) Times(rows int) (all float64, of []float64, err error) {
	none := make([]float64, rows)
	text, err := os.ReadFile(f.Private(timesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, none, nil
	}
	var times []float64
	if err == nil {
		err = json.Unmarshal(text, &times)
	}
	switch {
	case err != nil:
		return 0, none, fmt.Errorf("results: running times: %w", err)
	case len(times) != 1+rows:
		return 0, none, nil
	}
	return times[0], times[1:], nil
}
