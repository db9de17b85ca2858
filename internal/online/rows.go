package online

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/quota"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// Quota names the mechanism of package quota, in which private units vote on questions near their rows.
const Quota = "quota"

const unitsFile = "units"

// Voters holds the public and private rows of a run with mechanism Quota.
type Voters struct {
	encoder *dataset.Encoder
	public  blas32.General
	private neighbours.Rows
}

// ReadVoters reads private rows, whose units vote, and public rows that resemble the questions. The field
// r.Rule sets the classes.
func ReadVoters(public, private dataset.Source, r dataset.Reading) (*Voters, error) {
	schema, pool, err := dataset.ReadPublic(public, r)
	if err != nil {
		return nil, err
	}
	if schema.Encoder == nil || schema.Features > mostMore/8 { // a record of the journal holds the features
		return nil, &fault.Error{What: public.Path + " is no table, or has too many features",
			Why: fmt.Sprintf("a question is a list of cells, with at most %d features", mostMore/8),
			Fix: "give tables as CSV or Parquet, or fewer columns"}
	}
	set, err := schema.ReadPrivate(private)
	return &Voters{schema.Encoder, pool.X, neighbours.Rows{X: set.X, Y: set.Y, Units: set.Units, Classes: len(schema.Classes)}}, err
}

// Columns returns the names of a question's columns.
func (v *Voters) Columns() []string { return v.encoder.Columns() }

// encode treats a cell that cannot be read as a missing value.
func (v *Voters) encode(cells []string) ([]float32, error) {
	columns := v.Columns()
	if len(cells) != len(columns) {
		return nil, fmt.Errorf("the row has %d cells, but the public rows have %d columns", len(cells), len(columns))
	}
	t := dataset.Table{Name: "row", Y: []int{0}}
	for i, cell := range cells {
		t.Columns = append(t.Columns, dataset.Column{Name: columns[i], Values: []string{strings.TrimSpace(cell)}})
	}
	x, err := v.encoder.Encode(&t)
	return x.Data, err
}

func (v *Voters) check(t quota.Terms) error {
	err := quota.Sample{X: v.public, Terms: t}.Check()
	if err != nil {
		err = &fault.Error{What: strings.TrimPrefix(err.Error(), "quota: "),
			Why: "the radius of a question is the distance of a public row; nothing was charged",
			Fix: "give more public rows, or --radius", Err: err}
	}
	return err
}

func (v *Voters) checkUnits(path string, key rng.Key, recorded bool) error {
	now, err := quota.Units(key, v.private)
	if err != nil {
		return err
	}
	if !recorded {
		return durable.WriteBytes(path, 0o600, now)
	}
	before, err := os.ReadFile(path)
	if err == nil {
		err = quota.CheckUnits(before, now)
	}
	if err != nil {
		return &fault.Error{What: "the private rows are not those of the run, or " + path + " is damaged",
			Why: "units may be left out after the start, but not be added or changed: their votes so far would be unknown",
			Fix: "give the rows of the first start, without removed units; the public rows must be the same", Check: true, Err: err}
	}
	return nil
}

type quotaVotes struct {
	session *quota.Session
	sample  quota.Sample
	asked   uint64
	late    []quota.Question // of the journal, still to be counted
}

func (v *Voters) start(t quota.Terms, r *ledger.Reservation, key rng.Key) (Answerer, error) {
	q := &quotaVotes{sample: quota.Sample{X: v.public, Terms: t}}
	m, err := quota.New(t.Config)
	if err == nil {
		q.session, err = m.Start(r, key, v.private)
	}
	return q, err
}

// manyLate is the number of questions whose votes Resume counts together.
const manyLate = 1 << 10

func (q *quotaVotes) Ask(ctx context.Context, questions []*Question) ([]tokens.Answer, error) {
	if err := q.count(ctx); err != nil {
		return nil, err
	}
	asked := make([]quota.Question, len(questions))
	parallel.Each(0, len(asked), func(_, i int) {
		row := questions[i].Row
		asked[i] = quota.Question{ID: questions[i].name(), Row: row, Radius: q.sample.Radius(row, q.asked+uint64(i))}
		questions[i].More = asked[i].Append(nil)
	})
	got, err := q.session.Ask(ctx, asked)
	if err != nil {
		return nil, err
	}
	q.asked += uint64(len(asked))
	answers := make([]tokens.Answer, len(got))
	for i, a := range got {
		answers[i] = tokens.Answer{Token: a.Label, Source: tokens.Vote}
		if a.Label == aggregate.NoLabel {
			answers[i] = tokens.Answer{Token: tokens.None, Source: tokens.Declined}
		}
	}
	return answers, nil
}

func (q *quotaVotes) Resume(ctx context.Context, _ tokens.Answer, more []byte) error {
	late, err := quota.ParseQuestion(more)
	if err != nil {
		return err
	}
	q.asked++
	if q.late = append(q.late, late); len(q.late) < manyLate {
		return nil
	}
	return q.count(ctx)
}

func (q *quotaVotes) count(ctx context.Context) error {
	err := q.session.Resume(ctx, q.late)
	q.late = q.late[:0]
	return err
}

func (q *quotaVotes) Left() tokens.Left {
	return tokens.Left{Queries: tokens.Unlimited, Answers: tokens.Unlimited}
}

// checkQuota accepts zero votes and zero noise, because [quota.Terms.Choose] sets both.
func checkQuota(t quota.Terms) error {
	switch {
	case t.Units < 1:
		return errors.New("the number of units must be at least 1")
	case t.Votes < 0 || t.Votes > quota.MostVotes:
		return fmt.Errorf("the number of votes must be between 1 and %d, not %d", quota.MostVotes, t.Votes)
	case !(t.Radius >= 0) || !(t.Lead >= 0):
		return errors.New("neither the radius nor the lead may be negative")
	}
	return nil
}
