package run

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

// Identity holds all inputs of a run in a folder, except the key and the data. A run with an equal Identity
// resumes the run in the folder.
type Identity struct {
	Kind     string // such as "compare"
	Settings any    // written as JSON
	Command  string // command that repeats the run; not part of the identity
}

func (id Identity) encode() (identity, error) {
	is, err := newIdentity(id.Kind, id.Settings)
	is.Command = id.Command
	return is, err
}

// Name returns a short name of the identity for file names, or "" if Settings has no JSON form.
func (id Identity) Name() string {
	is, err := id.encode()
	if err != nil {
		return ""
	}
	name, _ := is.tag()
	return name
}

// Folder is the folder of a run. The subfolder "private" holds the configuration, the key and other secrets
// for a resume. Only one process at a time may hold a Folder.
type Folder struct {
	Path     string
	Key      rng.Key
	Finished bool // the run is complete, its key is destroyed, and Key is zero
	unlock   func()
}

// Finish destroys the secret key of a complete run, because anyone with the key can remove the noise. All
// results must be on disk before the call. Finish stores a salted hash of the data for CheckMadeOf. For a
// seeded run, Finish does nothing.
func (f *Folder) Finish(data [32]byte) error {
	if f.Finished || !f.Key.Releasable() {
		return nil
	}
	private := results.Folder(f.Path).Private()
	salt := make([]byte, sha256.Size)
	rand.Read(salt)
	text := hex.EncodeToString(salt) + " " + salted(salt, data) + "\n"
	if err := durable.WriteBytes(filepath.Join(private, finishedName), 0o600, []byte(text)); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err := keyfile.Destroy(filepath.Join(private, keyName)); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	f.Key, f.Finished = rng.Key{}, true
	return nil
}

// CheckMadeOf compares data with the data of the finished run, and returns an error if they differ. In the
// error, the argument `what` names the run, such as "the run in DIR".
func (f *Folder) CheckMadeOf(data [32]byte, what string) error {
	text, err := os.ReadFile(results.Folder(f.Path).Private(finishedName))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	saltText, sum, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	switch salt, err := hex.DecodeString(saltText); {
	case err != nil:
		return fmt.Errorf("run: %s: %w", finishedName, err)
	case sum != salted(salt, data):
		return OtherRun(another+what+" is complete, but the data have changed since then", nil, mixes, "choose another --out")
	}
	return nil
}

func salted(salt []byte, data [32]byte) string {
	sum := sha256.Sum256(append(append([]byte("pate run data\x00"), salt...), data[:]...))
	return hex.EncodeToString(sum[:])
}

const (
	keyName      = "run.key"
	finishedName = "finished"
)

// Forget removes the run and its key from the folder. Another run may then use the folder. Do not call Forget
// after a charge for the run.
func (f Folder) Forget() error {
	folder := results.Folder(f.Path)
	return errors.Join(os.Remove(folder.Config()), keyfile.Destroy(folder.Private(keyName)))
}

// Close lets other processes use the folder.
func (f Folder) Close() { f.unlock() }

// OpenFolder creates the folder at path, or opens it to resume its run, and locks the folder. If another
// process holds the folder, OpenFolder waits for the lock until ctx ends. For a new run, OpenFolder calls
// newKey. If the folder has another identity, the error matches [ErrOtherRun]. The caller must call
// [Folder.Close].
func OpenFolder(ctx context.Context, path string, id Identity, newKey func() (rng.Key, error)) (Folder, error) {
	f := Folder{Path: path}
	if err := durable.PrivateFolder(results.Folder(path).Private()); err != nil {
		return f, fmt.Errorf("run: %w", err)
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

// openRun returns the key of a new or resumed run, and a zero key for a finished run. The caller must have
// locked the folder.
func openRun(path string, id Identity, newKey func() (rng.Key, error)) (key rng.Key, err error) {
	folder := results.Folder(path)
	config, keyFile := folder.Config(), folder.Private(keyName)
	folder.Sweep() // the folder is locked
	asked, err := id.encode()
	if err != nil {
		return key, err
	}
	switch found, err := os.ReadFile(config); {
	case err == nil:
		if err := isRun(path, found, asked); err != nil {
			return key, err
		}
		if _, err := os.Stat(folder.Private(finishedName)); err == nil {
			if err := keyfile.Destroy(keyFile); err != nil { // a killed process may not have destroyed the key
				return key, fmt.Errorf("run: %w", err)
			}
			return key, nil
		}
		key, ok, err := keyfile.Read(keyFile)
		switch {
		case err != nil:
			return key, fmt.Errorf("run: %w", err)
		case !ok:
			return key, fmt.Errorf("run: the key of the run in %s is missing: %s: %w", path, keyFile, fs.ErrNotExist)
		}
		return key, nil
	case !errors.Is(err, fs.ErrNotExist):
		return key, fmt.Errorf("run: %w", err)
	}
	if key, err = newKey(); err != nil {
		return key, fmt.Errorf("run: %w", err)
	}
	switch kept, ok, err := keyfile.Read(keyFile); {
	case err != nil:
		return key, fmt.Errorf("run: %w", err)
	case ok && kept.Releasable() && !key.Releasable():
		return key, fmt.Errorf("run: %s is the key of another run: %w", keyFile, fs.ErrExist)
	case ok && kept.Releasable(): // from a process that was killed before it wrote the configuration
		key = kept
	default:
		if err := keyfile.Write(keyFile, key); err != nil {
			return key, fmt.Errorf("run: %w", err)
		}
	}
	data, err := json.MarshalIndent(asked, "", "  ")
	if err != nil {
		return key, fmt.Errorf("run: %w", err)
	}
	// Write the configuration last, so that every folder with a configuration has a key.
	if err := durable.WriteBytes(config, 0o600, append(data, '\n')); err != nil {
		return key, fmt.Errorf("run: %w", err)
	}
	return key, nil
}

// Settings decodes the settings of a run to *into. It returns false if the folder at path has no run. If the
// settings cannot be decoded, Settings still returns true and no error.
func Settings(path string, into any) (bool, error) {
	text, err := os.ReadFile(results.Folder(path).Config())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("run: %w", err)
	}
	var held identity
	if json.Unmarshal(text, &held) == nil {
		_ = json.Unmarshal(held.Settings, into) // OpenFolder refuses what cannot be read
	}
	return true, nil
}

const another = "the folder holds another run: "
const mixes = "key, ledger and checkpoints in the folder belong to that run, and a second run would spend its budget unnoticed"

func isRun(path string, config []byte, asked identity) error {
	var held identity
	if err := strictly(config, &held); err != nil {
		return OtherRun(another+path+" has a file that this version cannot read: "+err.Error(), nil, mixes,
			"choose another --out")
	}
	is, err := held.tag()
	if err != nil {
		return err
	}
	want, err := asked.tag()
	if err == nil && is != want {
		err = OtherRun(fmt.Sprintf("%s%s was made by `%s`", another, path, held.Command), nil, mixes,
			"choose another --out, or repeat that command")
	}
	return err
}

// ReadState reads the progress of a run from a JSON file into state. A missing file is no error. The file's
// field id must equal the argument `id`, the run's [ID].
func ReadState(path, id string, state any) error {
	durable.Sweep(path, "") // remains of killed processes; the caller holds the folder
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
		return OtherRun(path+" holds a run on other data or with other settings", nil, mixes,
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

// WriteState writes a file for [ReadState]. The file is as secret as the private data.
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
