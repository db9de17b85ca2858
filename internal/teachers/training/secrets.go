package training

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// secrets is the folder with the key of the partition, the salt of the manifest, and votes of teachers.
// Protect this folder like the private rows.
type secrets struct {
	dir    string
	key    rng.Key
	salt   manifest.Salt
	begun  bool // the folder and its salt already existed
	unlock func()
}

func openSecrets(ctx context.Context, j Job) (_ *secrets, err error) {
	if err := durable.PrivateFolder(j.Secrets); err != nil {
		return nil, err
	}
	s := &secrets{dir: j.Secrets, key: j.Key}
	lock := "lock"
	if j.Parts > 1 {
		lock = fmt.Sprintf("lock-%d-of-%d", j.Part+1, j.Parts)
	}
	if s.unlock, err = durable.Lock(ctx, filepath.Join(s.dir, lock)); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	defer func() {
		if err != nil {
			s.unlock()
		}
	}()
	// Parts on several machines need the same key. The lock lets only the first part create it.
	unlock, err := durable.Lock(ctx, filepath.Join(s.dir, "lock-key"))
	if err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	defer unlock()
	durable.SweepFolder(s.dir) // remove files of killed processes; this lock also guards writing key and salt
	if s.key.IsZero() {
		if s.key, err = run.Key(filepath.Join(s.dir, "run.key")); err != nil {
			return nil, err
		}
	}
	return s, s.readSalt()
}

func (s *secrets) single() string { return filepath.Join(s.dir, "teachers") }

func (s *secrets) readSalt() error {
	path := filepath.Join(s.dir, "salt")
	text, err := durable.ReadSecret(path)
	if err == nil {
		s.begun = true
		if err = s.salt.UnmarshalText(text); err != nil {
			return &fault.Error{File: path, What: "is no salt", Fix: "remove the folder and the votes, and train again", Err: err}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.salt, err = manifest.NewSalt(); err != nil {
		return err
	}
	if text, err = s.salt.MarshalText(); err != nil {
		return err
	}
	return durable.WriteBytes(path, 0o600, text)
}

// made holds hashes of the private rows and of their votes. These hashes are secret: the hashes of two jobs
// would reveal whether the rows have changed.
type made struct {
	Data  string `json:"data"`  // keyed hash of the private rows; "" for silos
	Votes string `json:"votes"` // SHA-256 of the votes
}

func votesHash(m *votes.Matrix) string {
	hash := m.Hash()
	return hex.EncodeToString(hash[:])
}

func (s *secrets) madePath(out string) string {
	return filepath.Join(s.dir, filepath.Base(out)+".made")
}

func (s *secrets) made(out string) (m made, err error) {
	text, err := durable.ReadSecret(s.madePath(out))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		err = fmt.Errorf("training: %w", err)
	}
	return m, err
}

func (s *secrets) keepMade(out string, m made) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("training: %w", err)
	}
	return durable.WriteBytes(s.madePath(out), 0o600, text)
}

func (s *secrets) finish() error {
	if err := os.RemoveAll(s.single()); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	return durable.SyncDir(s.dir)
}
