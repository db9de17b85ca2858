package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pate-go/pate/internal/results"
)

// timesFile has the running times of a run. They are of work on private rows, so they
// stand apart from what may be published.
const timesFile = "seconds.json"

// WriteTimes keeps running times in dir/private: of all, then of every row.
func WriteTimes(dir string, times []float64) error {
	text, err := json.Marshal(times)
	if err == nil {
		err = results.Folder(dir).Keep(timesFile, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// ReadTimes returns what WriteTimes kept in dir, none where nothing was.
func ReadTimes(dir string) ([]float64, error) {
	text, err := os.ReadFile(results.Folder(dir).Private(timesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var times []float64
	if err == nil {
		err = json.Unmarshal(text, &times)
	}
	if err != nil {
		return nil, fmt.Errorf("report: running times: %w", err)
	}
	return times, nil
}
