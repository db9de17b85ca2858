package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

const keptReport = "report.json"

func (j *job) open(ctx context.Context) (run.Folder, error) {
	s := j.Settings
	for _, path := range []*string{&s.Private.Path, &s.Private.Labels, &s.Private.Units, &s.Public.Path, &s.Public.Labels, &s.Ranges} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return run.Folder{}, err
		}
	}
	return run.OpenFolder(ctx, j.Out, run.Identity{Kind: "publish", Settings: s, Command: j.Command}, func() (rng.Key, error) {
		if j.Seed != nil {
			return rng.SeedKey(*j.Seed), nil
		}
		return rng.NewKey()
	})
}

func (j *job) kept() (r *Report, err error) {
	text, err := os.ReadFile(j.dir.Private(keptReport))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// publish copies missing files to the public half of the folder if the ledger holds the charges of a complete
// run. It overwrites no file.
func (j *job) publish(r *Report) error {
	paid := labelsFile
	if r.Method == DPSGD {
		paid = studentFile
	}
	copies := map[string][]byte{}
	for _, f := range append(r.Files, File{Name: reportFile}) {
		name := f.Name
		text, err := os.ReadFile(j.made(name))
		if err != nil {
			return results.Released(j.dir.Public(name), "its copy in "+j.dir.Private()+" is gone")
		}
		hash := fmt.Sprintf("%x", sha256.Sum256(text))
		if f.SHA256 != "" && hash != f.SHA256 {
			return results.Released(j.dir.Public(name), j.made(name)+" is not its copy")
		}
		if name == paid {
			if _, err := published.Charged(j.dir.Private(ledgerFile), hash); err != nil {
				return results.Released(j.dir.Public(name), err.Error())
			}
		}
		copies[name] = text
	}
	for name, text := range copies {
		there, err := os.ReadFile(j.dir.Public(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := durable.MkdirAll(j.dir.Public(), 0o755); err != nil {
				return err
			}
			if err := durable.WriteBytes(j.dir.Public(name), 0o644, text); err != nil {
				return err
			}
		case err != nil:
			return err
		case !bytes.Equal(there, text):
			return results.Released(j.made(name), j.dir.Public(name)+" is not its copy")
		}
	}
	return nil
}

func (j *job) destroySecrets() error {
	secrets, err := j.dir.Secrets()
	if err != nil {
		return err
	}
	for _, at := range secrets {
		err := filepath.WalkDir(at, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			return keyfile.Destroy(path)
		})
		if err == nil {
			err = os.RemoveAll(at)
		}
		if err != nil {
			return err
		}
	}
	return durable.SyncDir(j.dir.Private())
}

func (j *job) releasable() bool { return j.Seed == nil }

func (j *job) made(name string) string {
	if j.releasable() {
		return j.dir.Private("published", name)
	}
	path, _ := j.dir.Result(false, name)
	return path
}

func (j *job) write(name string, write func(io.Writer) error) error {
	return durable.WriteFile(j.made(name), 0o600, write)
}

func (j *job) writeBytes(name string, text []byte) error {
	return durable.WriteBytes(j.made(name), 0o600, text)
}

func (j *job) ledger() run.File {
	made := ledger.Config{Unit: j.Unit, Relation: accountant.AddRemove, Epsilon: j.Epsilon, Delta: j.Delta, Noise: ledger.SecretNoise}
	made.Accountant = accountant.ByAuto
	if !j.releasable() {
		made.Noise = ledger.SeededNoise
	}
	return run.File{Path: j.dir.Private(ledgerFile), New: made, Warn: j.Warn,
		Expect: run.Expect{Relation: made.Relation, Unit: made.Unit, Epsilon: made.Epsilon, Delta: made.Delta, Mode: &made.Mode}}
}
