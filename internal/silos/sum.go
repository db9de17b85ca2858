package silos

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/manifest"
)

// Sum holds the counts of several silos together.
type Sum struct {
	Counts          // Silo is empty; Size is the sum, or 0 if a silo does not declare it
	Files  []string // in the order of paths
	parts  []part   // of Files
}

type part struct {
	silo  string
	units int64
	info  os.FileInfo
}

// Add reads the files of silos and adds their counts. It refuses silos with different terms, and a silo that
// is given twice. Add holds only the sum and one file in memory.
func Add(paths []string) (*Sum, error) {
	s := &Sum{Files: paths}
	for i, path := range paths {
		c, info, err := open(path)
		if err != nil {
			return nil, err
		}
		for j, p := range s.parts {
			if os.SameFile(p.info, info) || p.silo != "" && p.silo == c.Silo {
				return nil, &fault.Error{File: path, What: "is the same silo as " + paths[j], Why: "its units would be counted twice",
					Fix: "give each silo once"}
			}
		}
		s.parts = append(s.parts, part{c.Silo, c.units(), info})
		if i == 0 {
			s.Counts = *c
			s.Silo = ""
			continue
		}
		if names := s.differences(c.Terms); names != nil {
			return nil, &fault.Error{File: path, What: "differs from " + paths[0] + " in " + strings.Join(names, ", "),
				Why: "counts add up only if all silos vote at the same questions, with the same features and classes",
				Fix: "cast the votes of all silos with the same public file and the same flags"}
		}
		if err := s.Plus(c); err != nil {
			return nil, &fault.Error{File: path, What: err.Error()}
		}
	}
	return s, nil
}

// Plus adds the counts of another silo with the same Terms.
func (c *Counts) Plus(other *Counts) error {
	if c.differences(other.Terms) != nil || len(c.Cells) != len(other.Cells) {
		return errors.New("has other terms than the silo before")
	}
	if c.Size > 0 && other.Size > 0 {
		c.Size += other.Size
	} else {
		c.Size = 0
	}
	for k, v := range other.Cells {
		if c.Cells[k] += v; c.Cells[k] > maxVotes {
			return errors.New("has too many votes")
		}
	}
	return nil
}

func open(path string) (*Counts, os.FileInfo, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, nil, &fault.Error{What: "the votes of a silo cannot be read", Err: err}
	}
	defer f.Close()
	c, err := Read(f)
	if err != nil {
		return nil, nil, &fault.Error{File: path, What: err.Error(), Why: "a silo's file is written by pate votes nearest",
			Fix: "cast the votes again"}
	}
	info, err := f.Stat()
	return c, info, err
}

func (t Terms) differences(other Terms) (names []string) {
	for _, field := range []struct {
		name string
		same bool
	}{
		{"unit", t.Unit == other.Unit}, {"public rows", t.Pool == other.Pool}, {"features", t.Features == other.Features},
		{"classes", slices.Equal(t.Classes, other.Classes)}, {"votes of a unit", t.Votes == other.Votes},
		{"number of questions", t.Questions == other.Questions}, {"questions", t.Rows == other.Rows},
		{"ranges", t.Drawn == other.Drawn},
	} {
		if !field.same {
			names = append(names, field.name)
		}
	}
	return names
}

// hash returns a hash that does not depend on the order of the silos.
func (s *Sum) hash() ([]byte, error) {
	text, err := json.Marshal(s.Terms)
	if err != nil {
		return nil, fmt.Errorf("silos: %w", err)
	}
	h := sha256.New()
	h.Write(append(text, '\n'))
	if err := binary.Write(h, binary.LittleEndian, s.Cells); err != nil {
		return nil, fmt.Errorf("silos: %w", err)
	}
	return h.Sum(nil), nil
}

// perUnit returns a bound on the number of silos that count one unit. The bound is `declared`, or 1 if
// declared is 0, but at most the number of silos. If every silo has a manifest, manifests that contradict the
// bound are an error. If declared is 0, each of several silos must have a manifest.
func (s *Sum) perUnit(ctx context.Context, declared int) (int, error) {
	if len(s.Files) == 1 {
		return 1, nil
	}
	var beside []string
	for _, path := range s.Files {
		switch there, err := durable.Exists(manifest.Beside(path)); {
		case err != nil:
			return 0, err
		case there:
			beside = append(beside, manifest.Beside(path))
		case declared == 0:
			return 0, &fault.Error{File: path, What: "has no manifest beside it, so silos may share a " + s.Unit, Err: fs.ErrNotExist,
				Why: fmt.Sprintf("epsilon is larger if a %s may vote in several silos; nothing was charged", s.Unit),
				Fix: "cast the votes with --silo and --salt, or declare --silos-per-unit K, the largest number of silos of a " + s.Unit}
		}
	}
	if len(beside) < len(s.Files) {
		return min(declared, len(s.Files)), nil
	}
	report, err := manifest.Check(ctx, beside)
	if err != nil {
		return 0, err
	}
	if err := s.lists(report, beside); err != nil {
		return 0, err
	}
	if most := max(1, declared); report.Most > most {
		return 0, &fault.Error{
			What: fmt.Sprintf("a %s is in %d silos, not in at most %d; silos share %d in all", s.Unit, report.Most, most, report.Shared),
			Why:  "the cost of such a unit is larger; nothing was charged", Check: true,
			Fix: fmt.Sprintf("leave the shared rows to one silo and cast the votes again, or declare --silos-per-unit %d", report.Most)}
	}
	return min(max(1, declared), len(s.Files)), nil
}

func (s *Sum) lists(r *manifest.Report, beside []string) error {
	for i, p := range s.parts {
		if len(r.Silos) != len(s.parts) || r.Head.Unit != s.Unit || r.Silos[i].Name != p.silo || int64(r.Silos[i].Units) != p.units {
			return &fault.Error{File: beside[i], What: "does not list the units that voted in " + s.Files[i], Check: true,
				Why: "the manifest must list exactly the rows that voted", Fix: "cast the votes again with --silo and --salt"}
		}
	}
	return nil
}
