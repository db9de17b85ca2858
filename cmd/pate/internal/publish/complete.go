package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/rng"
)

// keptReport is what a complete run prints again.
const keptReport = "report.json"

// open opens the folder of the run that the flags name.
func (j *job) open(ctx context.Context, private string) (experiments.Folder, error) {
	id := experiments.Identity{Schema: "pate.publish.run/1", Epsilon: j.flags.epsilon, Delta: j.g.Delta}
	out, err := filepath.Abs(j.flags.out)
	if err == nil {
		id.Data, err = filepath.Abs(private)
	}
	if err == nil {
		id.Methods, err = j.flags.words()
	}
	if err != nil {
		return experiments.Folder{}, err
	}
	words := slices.Concat([]string{"pate publish", shell.ShellWord(id.Data)}, id.Methods, []string{fmt.Sprintf("--epsilon %v --delta %v", id.Epsilon, id.Delta)})
	if j.g.Seeded {
		id.Seed = fmt.Sprint(j.g.Seed)
		words = append(words, "--seed "+id.Seed)
	}
	id.Command = strings.Join(append(words, "--out "+shell.ShellWord(out)), " ")
	return experiments.OpenFolder(ctx, j.flags.out, id, func() (rng.Key, error) {
		if j.g.Seeded {
			return rng.SeedKey(j.g.Seed), nil
		}
		return rng.NewKey()
	})
}

// words returns the flags that were given and that what is released depends on, as a shell reads
// them from any folder.
func (f *publishFlags) words() ([]string, error) {
	pair, ranges := f.PairFlags, f.ranges
	for _, path := range []*string{&pair.Public, &pair.Labels, &pair.Units, &pair.PublicLabels, &ranges} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	words := pair.Words()
	for _, w := range []struct {
		given bool
		name  string
		value any
	}{
		{f.method != methodPATE, "method", f.method}, {f.teachers != 0, "teachers", f.teachers}, {f.size != 0, "size", f.size}, {f.rows != 1, "rows-per-unit", f.rows},
		{f.learner != "", "learner", f.learner}, {f.drawn(), "pool", f.pool}, {ranges != "", "ranges", shell.ShellWord(ranges)},
		{f.accuracy != 0, "teacher-accuracy", f.accuracy}, {f.least != leastAccuracy, "min-accuracy", f.least},
	} {
		if w.given {
			words = append(words, fmt.Sprintf("--%s %v", w.name, w.value))
		}
	}
	return words, nil
}

// kept returns the report of a complete run.
func (j *job) kept() (r *report, err error) {
	text, err := os.ReadFile(j.Private(keptReport))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// publish checks that the ledger paid for what a complete run released, and copies to the public
// half what is not there. What is there and is something else is refused.
func (j *job) publish(r *report) error {
	paid := labelsFile
	if r.Method == methodDPSGD {
		paid = studentFile
	}
	copies := map[string][]byte{}
	for _, name := range append(r.names(), reportFile) {
		text, err := os.ReadFile(j.made(name))
		if err != nil {
			return shell.ErrReleased(j.Public(name), fmt.Sprintf("its copy in %s is gone", j.Private()))
		}
		hash := sha256.Sum256(text)
		if i := slices.Index(r.names(), name); i >= 0 && hex.EncodeToString(hash[:]) != r.Files[i].SHA256 {
			return shell.ErrReleased(j.Public(name), j.made(name)+" is not its copy")
		}
		if name == paid {
			if _, err := published.Charged(j.Private(ledgerFile), hex.EncodeToString(hash[:])); err != nil {
				return shell.ErrReleased(j.Public(name), err.Error())
			}
		}
		copies[name] = text
	}
	for name, text := range copies {
		there, err := os.ReadFile(j.Public(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := durable.MkdirAll(j.Public(), 0o755); err != nil {
				return err
			}
			if err := durable.WriteBytes(j.Public(name), 0o644, text); err != nil {
				return err
			}
		case err != nil:
			return err
		case !bytes.Equal(there, text):
			return shell.ErrReleased(j.made(name), j.Public(name)+" is not its copy")
		}
	}
	return nil
}

// destroySecrets overwrites and removes what only a run that is not complete would need. The ledger
// stays, since what was charged stays spent, and so does what is published.
func (j *job) destroySecrets() error {
	stay := []string{"lock", "config.json", "finished", keptReport, "published", "results"}
	entries, err := os.ReadDir(j.Private())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(stay, e.Name()) || strings.HasPrefix(e.Name(), ledgerFile) {
			continue
		}
		err := filepath.WalkDir(j.Private(e.Name()), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			return keyfile.Destroy(path)
		})
		if err == nil {
			err = os.RemoveAll(j.Private(e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return durable.SyncDir(j.Private())
}
