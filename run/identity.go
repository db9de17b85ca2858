package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/rng"
)

// ErrOtherRun matches every error about a file, folder or ledger that belongs to another run.
var ErrOtherRun = errors.New("run: the ledger belongs to another run")

// OtherRun returns an error that matches [ErrOtherRun]. The argument `differ` lists the differences of the
// runs.
func OtherRun(what string, differ []string, why, fix string) error {
	if len(differ) > 0 {
		what += ": " + strings.Join(differ, "; ")
	}
	return &fault.Error{What: what, Why: why, Fix: fix, Err: ErrOtherRun}
}

// identity holds all public inputs of a run. Its JSON form is the name of the run on a ledger.
type identity struct {
	Version  int             `json:"run"` // version of this form
	Kind     string          `json:"kind"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Inputs   string          `json:"inputs,omitempty"`  // hash of the private inputs under a secret
	Seeded   bool            `json:"seeded,omitempty"`  // the noise comes from a seed
	Key      string          `json:"key,omitempty"`     // public name of the key
	Command  string          `json:"command,omitempty"` // command that repeats the run; not part of the identity
}

const identityVersion = 1

func newIdentity(kind string, settings any) (identity, error) {
	id := identity{Version: identityVersion, Kind: kind}
	if settings != nil {
		var err error
		if id.Settings, err = json.Marshal(settings); err != nil {
			return id, fmt.Errorf("run: the settings of a run: %w", err)
		}
	}
	return id, nil
}

func (id identity) encode() (string, error) {
	text, err := json.Marshal(id)
	if err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	return string(text), nil
}

func (id identity) tag() (string, error) {
	id.Key, id.Command = "", ""
	text, err := id.encode()
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8]), err
}

func parseIdentity(name string) (id identity, ok bool, err error) {
	if !strings.HasPrefix(name, `{"run":`) {
		return id, false, nil
	}
	if err = strictly([]byte(name), &id); err == nil && id.Version != identityVersion {
		err = fmt.Errorf("it has form %d", id.Version)
	}
	if err != nil {
		return id, false, fmt.Errorf("run: the ledger holds a run that this version cannot read: %w", err)
	}
	return id, true, nil
}

func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// Kind parses the name of a run into kind and settings. If the name has no kind, both are empty.
func Kind(name string) (kind string, settings json.RawMessage) {
	id, ok, err := parseIdentity(name)
	if !ok || err != nil {
		return "", nil
	}
	return id.Kind, id.Settings
}

// ID returns the name of a run that has its own ledger or folder. The argument `inputs` is a hash of the
// private inputs. The name is a pseudorandom function of the other arguments under key. So the name reveals
// nothing about the inputs.
func ID(key rng.Key, kind string, inputs []byte, settings any) (string, error) {
	id, err := newIdentity(kind, settings)
	if err != nil {
		return "", err
	}
	text, err := id.encode()
	if err != nil {
		return "", err
	}
	return publicName(key.DeriveBytes("run inputs", inputs).DeriveBytes("run", []byte(text)))
}

func publicName(key rng.Key) (string, error) {
	text, err := key.MarshalText()
	if err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// Recorded is a run that was charged to a shared ledger.
type Recorded struct {
	Settings  json.RawMessage
	Committed bool // its first outcome is committed and may have been released
	// Differs lists the differences between the noise sources of the recorded run and the new run.
	Differs []string

	id     identity
	name   string
	secret rng.Key
}

// Of reports whether inputs is the hash of the recorded run's private inputs.
func (r *Recorded) Of(inputs []byte) (bool, error) {
	name, err := inputsName(r.secret, r.id.Kind, inputs)
	return name == r.id.Inputs, err
}

// Read decodes the settings of the recorded run into the value that settings points to. An unknown field is
// an error.
func (r *Recorded) Read(settings any) error {
	if err := strictly(r.Settings, settings); err != nil {
		return fmt.Errorf("run: the ledger holds a run of kind %s that this version cannot read: %w", r.id.Kind, err)
	}
	return nil
}

// inputsName returns a keyed hash of the private inputs, so that readers of the ledger cannot confirm a
// guess.
func inputsName(secret rng.Key, kind string, inputs []byte) (string, error) {
	return nameOfKey(secret.DeriveBytes(kind, inputs))
}

func recordedRuns(book *ledger.Ledger, kind string) ([]Recorded, error) {
	var runs []Recorded
	for _, r := range book.Runs() {
		id, ok, err := parseIdentity(r.Name)
		if err != nil {
			return nil, err
		}
		if ok && id.Kind == kind && r.Entries > 0 {
			runs = append(runs, Recorded{Settings: id.Settings, Committed: r.Committed, id: id, name: r.Name})
		}
	}
	return runs, nil
}

func (id identity) noiseDiffers(seeded bool, key string) []string {
	from := map[bool]string{true: "a seed", false: "a secret key"}
	switch {
	case id.Seeded != seeded:
		return []string{fmt.Sprintf("noise from %s, not %s", from[id.Seeded], from[seeded])}
	case seeded && id.Key != key:
		return []string{"another seed"}
	case key != "" && id.Key != key:
		return []string{"another key"}
	}
	return nil
}
