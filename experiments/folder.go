package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/durable"
)

// ErrOtherRun is returned when a folder holds a run with another configuration.
var ErrOtherRun = errors.New("experiments: the folder holds another run")

// Identity says what a run is a function of, apart from its key: runs with
// equal identities repeat each other and may share a folder.
type Identity struct {
	Schema  string  `json:"schema"`
	Data    string  `json:"data"`
	Split   string  `json:"split"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Seeds   int     `json:"seeds"`
	Seed    string  `json:"seed,omitempty"` // of a seeded run
	Learner string  `json:"learner"`
	// Features, Teachers and Methods as asked for; empty means the default.
	Features string   `json:"features,omitempty"`
	Teachers int      `json:"teachers,omitempty"`
	Methods  []string `json:"methods,omitempty"`
	Quick    bool     `json:"quick,omitempty"`
	Command  string   `json:"command"` // repeats the run
}

// Name is a short name for the identity, usable as a file name.
func (id Identity) Name() string {
	id.Command = ""
	data, err := json.Marshal(id)
	if err != nil {
		panic(err) // strings and numbers always marshal; infinite epsilons are refused before
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Folder is where a run keeps what it needs to go on after an interruption:
// its configuration, and under private/ its key and the teachers' votes, which
// are secrets as the data are.
type Folder struct {
	Path string
	Key  aggregate.Key
}

// OpenFolder makes path, or continues the run that it holds. newKey is called
// for a new run. A folder with another identity gives ErrOtherRun, and nothing
// is written.
func OpenFolder(path string, id Identity, newKey func() (aggregate.Key, error)) (Folder, error) {
	f := Folder{Path: path}
	config, key := filepath.Join(path, "config.json"), filepath.Join(path, "private", "run.key")
	switch found, err := os.ReadFile(config); {
	case err == nil:
		var held Identity
		if err := json.Unmarshal(found, &held); err != nil {
			return f, fmt.Errorf("%w: %s: %v", ErrOtherRun, config, err)
		}
		if held.Name() != id.Name() {
			return f, fmt.Errorf("%w: %s was made by `%s`", ErrOtherRun, path, held.Command)
		}
		text, err := os.ReadFile(key)
		if err != nil {
			return f, fmt.Errorf("experiments: the run in %s has lost its key: %w", path, err)
		}
		if err := f.Key.UnmarshalText(text); err != nil {
			return f, fmt.Errorf("experiments: %s: %w", key, err)
		}
		return f, nil
	case !errors.Is(err, fs.ErrNotExist):
		return f, fmt.Errorf("experiments: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(path, "private"), 0o700); err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	var err error
	if f.Key, err = newKey(); err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	text, err := f.Key.MarshalText()
	if err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	if err := durable.WriteBytes(key, 0o600, text); err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	// Last, so that a folder with a configuration always has a key.
	if err := durable.WriteBytes(config, 0o644, append(data, '\n')); err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	return f, nil
}

// subfolder makes and returns a private folder of one seed's run.
func (c Config) subfolder(seed int) (string, error) {
	path := filepath.Join(c.Dir, "private", fmt.Sprintf("run-%d", seed))
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("experiments: %w", err)
	}
	return path, nil
}
