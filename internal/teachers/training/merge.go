package training

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/teachers/votes"
)

// Merging lists the parts of an ensemble to merge into one votes file.
type Merging struct {
	Parts []string // files, patterns, or folders of parts
	Out   string   // path of the votes
	// Secrets is the secrets folder of the job, by default Out + ".private". If this folder holds the
	// salt, Merge stores a hash of the votes there. For parts that are not silos, Merge then also stores
	// a hash of the rows.
	Secrets string
}

func SilosBeside(votes string) string { return votes + ".silos.json" }

// Merge joins the votes of all parts. It writes a votes file and a manifest, like a [Run] without parts. It
// refuses missing or repeated parts, and parts with different settings, rows, keys or versions. It also
// refuses silos with a common unit. For silos, Merge also stores the hashes of the units beside the votes. A
// refused Merge writes nothing. A repeated Merge changes nothing.
func Merge(ctx context.Context, m Merging) (*Result, error) {
	paths, err := findParts(m.Parts)
	if err != nil {
		return nil, err
	}
	parts, matrix, err := readParts(ctx, paths)
	if err != nil {
		return nil, err
	}
	first := parts[0]
	m.Secrets = cmp.Or(m.Secrets, m.Out+".private")
	salt, err := readSaltOf(m.Secrets, first)
	if err != nil {
		return nil, err
	}
	head, data := first.manifest(), first.Data
	var silos []byte
	if first.Silo != "" {
		if silos, err = disjointSilos(ctx, parts); err != nil {
			return nil, err
		}
		head.Training.Command, data = "pate votes merge", "" // each part had its own rows
	}
	if err := keepMerged(m.Out, head, matrix, silos); err != nil {
		return nil, err
	}
	r := &Result{Schema: Schema, Teachers: first.Teachers, Reason: fmt.Sprintf("those of %d parts", first.Parts),
		Queries: first.Queries, Classes: first.ClassNames,
		Unit: first.Unit, Relation: relation, Learner: first.Training.Learner, Features: first.Training.Features,
		Votes: m.Out, Manifest: manifest.Beside(m.Out), Seeded: first.Seeded}
	if salt.IsZero() {
		return r, nil
	}
	s := secrets{dir: m.Secrets}
	if err := s.keepMade(m.Out, made{Data: data, Votes: votesHash(matrix)}); err != nil {
		return nil, err
	}
	return r, s.finish()
}

func findParts(names []string) (paths []string, err error) {
	for _, name := range names {
		found := []string{name}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			var globErr error
			if found, globErr = filepath.Glob(name); globErr != nil || len(found) == 0 {
				return nil, &fault.Error{File: name, What: "cannot be read",
					Why: "no file or folder has this name or matches this pattern", Err: err}
			}
		case info.IsDir(): // before patterns, because a folder name may contain pattern characters
			if found, err = partsIn(name); err != nil {
				return nil, err
			}
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, errors.New("training: no part is given")
	}
	slices.Sort(paths)
	return paths, nil
}

func partsIn(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, &fault.Error{File: folder, What: "cannot be read", Err: err}
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partEnd) {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, refuse(folder, "has no part of the teachers", "their names end in "+partEnd,
			"give the folder to which pate train wrote")
	}
	return paths, nil
}

func readParts(ctx context.Context, paths []string) ([]*partFile, *votes.Matrix, error) {
	var first *partFile
	var byPart []*partFile
	var matrix *votes.Matrix
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("training: merging: %w", err)
		}
		p, err := readPart(path)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first, byPart = p, make([]*partFile, p.Parts)
			if matrix, err = votes.New(p.Queries, p.Teachers, len(p.ClassNames)); err != nil {
				return nil, nil, err
			}
		}
		if what := first.differs(p.partHead, true); what != "" {
			return nil, nil, broken(path, fmt.Sprintf("is of %s than %s", what, first.path),
				"teachers of two jobs cannot be mixed", "train that part again with the command of the other parts")
		}
		if twin := byPart[p.Part]; twin != nil {
			return nil, nil, broken(path,
				fmt.Sprintf("is part %d of %d, but %s is the same part", p.Part+1, p.Parts, twin.path),
				"a teacher would have two votes, or the choice between the files would be arbitrary", "remove one of them")
		}
		byPart[p.Part] = p
		if err := p.fill(matrix); err != nil {
			return nil, nil, err
		}
	}
	var missing []string
	for i, p := range byPart {
		if p == nil {
			missing = append(missing, fmt.Sprintf("%d/%d", i+1, first.Parts))
		}
	}
	if len(missing) > 0 {
		const shown = 10
		list := strings.Join(missing[:min(shown, len(missing))], ", ")
		if more := len(missing) - shown; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		return nil, nil, broken(first.path,
			fmt.Sprintf("is one of %d parts, but %d parts are missing: %s", first.Parts, len(missing), list),
			"without these parts the ensemble would have fewer teachers", "train the missing parts, with --shard "+missing[0])
	}
	return byPart, matrix, nil
}

func (p *partFile) fill(matrix *votes.Matrix) error {
	for k, teacher := range teachersOf(p.Part, p.Parts, p.Teachers) {
		for q := range p.Queries {
			vote := int16(binary.LittleEndian.Uint16(p.cells[2*(k*p.Queries+q):]))
			if err := matrix.Set(q, teacher, int(vote)); err != nil {
				return &fault.Error{File: p.path, What: "has a vote that is not for a class", Fix: "train that part again", Check: true}
			}
		}
	}
	p.cells = nil
	return nil
}

func readSaltOf(dir string, p *partFile) (salt manifest.Salt, err error) {
	path := filepath.Join(dir, "salt")
	text, err := durable.ReadSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return salt, nil
	}
	if err == nil {
		err = salt.UnmarshalText(text)
	}
	if err == nil && salt.ID() != p.Salt {
		err = refuse(path, "is not the salt of "+p.path,
			"the folder would accept the votes of another job",
			"give the folder of secrets of that job with --private-dir, or another --out")
	}
	return salt, err
}

func disjointSilos(ctx context.Context, parts []*partFile) ([]byte, error) {
	named := map[string]string{}
	var silos []manifest.Silo
	for _, p := range parts {
		if other, twice := named[p.Silo]; twice {
			return nil, broken(p.path, fmt.Sprintf("is of the silo %q, but %s is of the same silo", p.Silo, other),
				"each silo must be one part", "give the silos different names, with --silo")
		}
		named[p.Silo] = p.path
		silos = append(silos, manifest.Silo{Name: p.Silo, Hashes: p.units})
	}
	var b bytes.Buffer
	if err := manifest.Write(&b, manifest.Head{Unit: parts[0].Unit, SaltID: parts[0].Salt}, silos...); err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	report, err := manifest.CheckText(ctx, "silos", b.Bytes())
	if err != nil {
		return nil, err
	}
	if report.Shared > 0 {
		o := report.Overlaps[0]
		return nil, broken(named[o.A], fmt.Sprintf("shares %d units (%s) with %s; %d units are in more than one silo",
			o.Units, parts[0].Unit, named[o.B], report.Shared),
			"a unit in two silos changes the votes of two teachers, so epsilon would be wrong",
			"keep each of these units in only one silo, and train the parts of the other silos again")
	}
	return b.Bytes(), nil
}

func keepMerged(out string, head manifest.Head, matrix *votes.Matrix, silos []byte) error {
	type file struct {
		path  string
		mode  os.FileMode
		write func(io.Writer) error
	}
	files := []file{{manifest.Beside(out), 0o644, func(w io.Writer) error { return manifest.Write(w, head) }}}
	if silos != nil {
		files = append(files, file{SilosBeside(out), 0o600, func(w io.Writer) error { _, err := w.Write(silos); return err }})
	}
	exists := func(path string) error {
		return refuse(path, "exists already, but is not the result of these parts", "votes are not overwritten",
			"choose another --out, or remove it with the files beside it")
	}
	var missing []file
	durable.Sweep(out, "") // remove files of a killed process
	for _, f := range files {
		durable.Sweep(f.path, "")
		there, err := durable.Exists(f.path)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, f)
			continue
		}
		same, err := durable.Holds(f.path, f.write)
		if err != nil {
			return err
		}
		if !same {
			return exists(f.path)
		}
	}
	if err := keepVotes(out, len(head.ClassNames), matrix, exists(out)); err != nil {
		return err
	}
	for _, f := range missing {
		if err := durable.WriteFile(f.path, f.mode, f.write); err != nil {
			return err
		}
	}
	return nil
}
