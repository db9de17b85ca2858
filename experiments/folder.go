package experiments

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/rng"
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
	// Epsilons are all targets, if there are several.
	Epsilons []float64 `json:"epsilons,omitempty"`
	Seeds    int       `json:"seeds"`
	Seed     string    `json:"seed,omitempty"` // of a seeded run
	Learner  string    `json:"learner"`
	// Features, Teachers and Methods as asked for; empty means the default.
	Features string   `json:"features,omitempty"`
	Teachers int      `json:"teachers,omitempty"`
	Methods  []string `json:"methods,omitempty"`
	// Pool is how questions are drawn, and Ranges what they are drawn from, where there are
	// no public rows.
	Pool    string `json:"pool,omitempty"`
	Ranges  string `json:"ranges,omitempty"`
	Quick   bool   `json:"quick,omitempty"`
	Typical string `json:"bayes,omitempty"` // what was asked for beside
	Command string `json:"command"`         // repeats the run
}

// Name returns a short name for the identity, usable as a file name.
func (id Identity) Name() string {
	id.Command = ""
	data, err := json.Marshal(id)
	if err != nil {
		panic(err) // finite numbers and strings always marshal; Config.Validate refuses others
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Folder is where a run keeps its results and, under private/, what it needs to go on after an
// interruption: its configuration, its key and the teachers' votes, which are secrets as the data
// are. One process at a time may hold it.
type Folder struct {
	Path     string
	Key      rng.Key
	Finished bool // the run is complete and its key destroyed: Key is zero
	unlock   func()
}

// Finish destroys the key of a complete run, after everything that it made is on
// disk: a person who finds the key later could take the noise off what was released.
// The key of a seeded run is no secret and stays, so that it can be repeated. The
// hash of the data is kept under a salt of its own, to recognise them later.
func (f *Folder) Finish(data [32]byte) error {
	if f.Finished || !f.Key.Releasable() {
		return nil
	}
	private := results.Folder(f.Path).Private()
	salt := make([]byte, sha256.Size)
	rand.Read(salt)
	text := hex.EncodeToString(salt) + " " + salted(salt, data) + "\n"
	if err := durable.WriteBytes(filepath.Join(private, finishedName), 0o600, []byte(text)); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	if err := keyfile.Destroy(filepath.Join(private, keyName)); err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	f.Key, f.Finished = rng.Key{}, true
	return nil
}

// MadeOf reports whether a finished run had these data.
func (f *Folder) MadeOf(data [32]byte) (bool, error) {
	text, err := os.ReadFile(results.Folder(f.Path).Private(finishedName))
	if err != nil {
		return false, fmt.Errorf("experiments: %w", err)
	}
	saltText, sum, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	salt, err := hex.DecodeString(saltText)
	if err != nil {
		return false, fmt.Errorf("experiments: %s: %w", finishedName, err)
	}
	return sum == salted(salt, data), nil
}

// CheckMadeOf refuses a finished run that had other data. The error says what is complete.
func (f *Folder) CheckMadeOf(data [32]byte, what string) error {
	switch same, err := f.MadeOf(data); {
	case err != nil:
		return err
	case !same:
		return fmt.Errorf("%w: %s is complete, and the data have changed since", ErrOtherRun, what)
	}
	return nil
}

func salted(salt []byte, data [32]byte) string {
	sum := sha256.Sum256(append(append([]byte("pate run data\x00"), salt...), data[:]...))
	return hex.EncodeToString(sum[:])
}

// Files under private/.
const (
	keyName      = "run.key"
	finishedName = "finished"
)

// Close lets other processes use the folder.
func (f Folder) Close() { f.unlock() }

// OpenFolder makes path, or continues the run that it holds, and locks it: it
// waits while another process has it, until ctx ends. newKey is called for a new
// run. A folder with another identity gives ErrOtherRun, and nothing is written.
// Close it in the end.
func OpenFolder(ctx context.Context, path string, id Identity, newKey func() (rng.Key, error)) (Folder, error) {
	f := Folder{Path: path}
	if err := durable.PrivateFolder(results.Folder(path).Private()); err != nil {
		return f, fmt.Errorf("experiments: %w", err)
	}
	unlock, err := durable.Lock(ctx, results.Folder(path).Private("lock"))
	if err != nil {
		return f, err
	}
	f.unlock = unlock
	if f.Key, err = openRun(path, id, newKey); err != nil {
		unlock()
		return f, err
	}
	f.Finished = f.Key.IsZero()
	return f, nil
}

// openRun returns the key of the run in a locked folder, or starts one; the zero
// key if the run is finished.
func openRun(path string, id Identity, newKey func() (rng.Key, error)) (key rng.Key, err error) {
	folder := results.Folder(path)
	config, keyFile := folder.Config(), folder.Private(keyName)
	folder.Sweep() // the folder is locked
	switch found, err := os.ReadFile(config); {
	case err == nil:
		var held Identity
		if err := json.Unmarshal(found, &held); err != nil {
			return key, fmt.Errorf("%w: %s: %v", ErrOtherRun, config, err)
		}
		if held.Name() != id.Name() {
			return key, fmt.Errorf("%w: %s was made by `%s`", ErrOtherRun, path, held.Command)
		}
		if _, err := os.Stat(folder.Private(finishedName)); err == nil {
			if err := keyfile.Destroy(keyFile); err != nil { // if it was cut off while finishing
				return key, fmt.Errorf("experiments: %w", err)
			}
			return key, nil
		}
		key, ok, err := keyfile.Read(keyFile)
		switch {
		case err != nil:
			return key, fmt.Errorf("experiments: %w", err)
		case !ok:
			return key, fmt.Errorf("experiments: the run in %s has lost its key: %s: %w", path, keyFile, fs.ErrNotExist)
		}
		return key, nil
	case !errors.Is(err, fs.ErrNotExist):
		return key, fmt.Errorf("experiments: %w", err)
	}
	if key, err = newKey(); err != nil {
		return key, fmt.Errorf("experiments: %w", err)
	}
	switch kept, ok, err := keyfile.Read(keyFile); {
	case err != nil:
		return key, fmt.Errorf("experiments: %w", err)
	case ok && kept.Releasable() && !key.Releasable():
		return key, fmt.Errorf("experiments: %s is a key that is not of this run: %w", keyFile, fs.ErrExist)
	case ok && kept.Releasable(): // of a process that was killed before it wrote the configuration
		key = kept
	default:
		if err := keyfile.Write(keyFile, key); err != nil {
			return key, fmt.Errorf("experiments: %w", err)
		}
	}
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return key, fmt.Errorf("experiments: %w", err)
	}
	// Last, so that a folder with a configuration always has a key.
	if err := durable.WriteBytes(config, 0o600, append(data, '\n')); err != nil {
		return key, fmt.Errorf("experiments: %w", err)
	}
	return key, nil
}

// subfolder makes and returns a private folder of one seed's run.
func (c Config) subfolder(seed int) (string, error) {
	path := results.Folder(c.Dir).Private(fmt.Sprintf("run-%d", seed) + c.drawn.suffix())
	if err := durable.PrivateFolder(path); err != nil {
		return "", fmt.Errorf("experiments: %w", err)
	}
	return path, nil
}
