package silos

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/student"
)

// Casting describes the votes of one silo. Private, Public, Unit and Votes are required.
type Casting struct {
	Private, Public dataset.Source
	Reading         dataset.Reading
	Unit            string
	Votes           int    // number of questions at which a unit votes
	Questions       int    // default: all public rows that can be questions, at most nearby.MostQuestions if they are no images
	Size            int    // declared approximate number of units; 0 if not declared
	Silo            string // name; may be empty
	Progress        func(student.Progress)
	Columns         func([]dataset.ColumnNote) // called with notes on the columns of public rows
}

// Cast returns the votes of one silo, and the name of the unit of each private row.
func Cast(ctx context.Context, c Casting) (*Counts, []string, error) {
	schema, pool, err := dataset.ReadPublic(c.Public, c.Reading)
	if err != nil {
		return nil, nil, err
	}
	if schema.Encoder != nil && c.Columns != nil {
		c.Columns(schema.Encoder.Notes())
	}
	if c.Questions, err = c.questions(schema, pool); err != nil {
		return nil, nil, err
	}
	private, err := schema.ReadPrivate(c.Private)
	if err != nil {
		return nil, nil, err
	}
	if c.Progress == nil {
		c.Progress = func(student.Progress) {}
	}
	asked, err := published.Questions(ctx, schema, pool, c.Questions, c.Progress)
	if err != nil {
		return nil, nil, err
	}
	terms, err := c.terms(schema, pool, asked)
	if err != nil {
		return nil, nil, err
	}
	voters, questions, err := published.Voters(ctx, schema, pool, private, asked)
	if err != nil {
		return nil, nil, err
	}
	cells, err := neighbours.Cast(ctx, voters, questions, terms.Votes)
	return &Counts{Head{schemaName, true, c.Silo, c.Size, terms}, asked, cells}, private.Units, err
}

func (c Casting) questions(schema *dataset.Schema, pool dataset.Pool) (int, error) {
	most := min(pool.Len(), student.MaxSpread)
	n := c.Questions
	if n == 0 {
		if n = most; schema.Image.Rows == 0 {
			n = min(n, nearby.MostQuestions)
		}
	}
	if n > most || c.Votes > n {
		return 0, &fault.Error{What: fmt.Sprintf("%d votes of a unit at %d questions are not possible", c.Votes, n),
			Why: fmt.Sprintf("a unit votes at different questions, and of these public rows at most %d can be questions", most),
			Fix: "choose fewer votes or questions, or give more public rows"}
	}
	return n, nil
}

func (c Casting) terms(s *dataset.Schema, pool dataset.Pool, asked []int) (Terms, error) {
	// The pool's hash covers its encoded rows, and so their scales.
	text, err := json.Marshal([]any{s.Kind, s.Image, s.Features, s.Encoder})
	if err != nil {
		return Terms{}, fmt.Errorf("silos: %w", err)
	}
	rows, columns := pool.Hash(), sha256.Sum256(text)
	return Terms{Unit: c.Unit, Pool: hex.EncodeToString(rows[:]), Features: hex.EncodeToString(columns[:]), Classes: s.Classes,
		Votes: c.Votes, Questions: len(asked), Drawn: c.Reading.Ranges != nil, Rows: hashOfRows(asked)}, nil
}

// WriteUnits writes the manifest of a silo, with keyed hashes of its units.
func (c *Counts) WriteUnits(w io.Writer, salt manifest.Salt, units []string) error {
	return manifest.Write(w, manifest.Head{Unit: c.Unit, SaltID: salt.ID()}, manifest.Silo{Name: c.Silo, Hashes: salt.Units(units)})
}
