//go:build peers

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/teachers"
)

// The queries are the MNIST test images with indices from queriesFrom to queriesTo-1.
const queriesFrom, queriesTo = 8000, 10000

type lesson struct {
	Learner, Do string
	From, To    int
}

type marks struct {
	timing
	One       float64 `json:"one,omitempty"`
	Plurality float64 `json:"plurality,omitempty"`
}

type class struct {
	x, queries blas32.General
	y, truth   []int
	rows       int // rows of a partition
	learners   map[string]teachers.Learner
	fitted     []teachers.Classifier
	votes      [][]int // one row per teacher, one column per query
}

func teach(extractor string, shares int, folder string) error {
	ctx := context.Background()
	c, err := newClass(ctx, extractor, shares)
	if err != nil {
		return err
	}
	if err := c.export(folder); err != nil {
		return err
	}
	return serve(func(l lesson) (marks, error) { return c.do(ctx, l) })
}

func newClass(ctx context.Context, extractor string, shares int) (*class, error) {
	var of features.Extractor = features.Raw{}
	if extractor == "hog" {
		of = features.StandardHOG()
	}
	train, test, err := namedsets.MNIST()
	if err != nil {
		return nil, err
	}
	c := &class{rows: train.X.Rows / 250, learners: map[string]teachers.Learner{}}
	if shares < 1 || shares*c.rows > train.X.Rows {
		return nil, fmt.Errorf("%d teachers, want 1 to %d", shares, train.X.Rows/c.rows)
	}
	if train, err = train.Slice(0, shares*c.rows); err != nil {
		return nil, err
	}
	if test, err = test.Slice(queriesFrom, queriesTo); err != nil {
		return nil, err
	}
	c.y, c.truth = train.Y, test.Y
	if c.x, err = features.Apply(ctx, train, features.Standardize{Of: of}, 1); err != nil {
		return nil, err
	}
	if c.queries, err = features.Apply(ctx, test, features.Standardize{Of: of}, 1); err != nil {
		return nil, err
	}
	c.learners[training.Softmax] = teachers.Softmax{L2: 1e-3, Iterations: 100} // the defaults of this learner
	c.learners[training.KernelRidge], err = training.NewLearner(ctx, training.KernelRidge, c.x.Cols, dataset.Shape{})
	return c, err
}

func (c *class) do(ctx context.Context, l lesson) (m marks, err error) {
	switch l.Do {
	case "fit":
		c.fitted = c.fitted[:0]
		if l.From == 0 {
			c.votes = c.votes[:0]
		}
		w := start()
		for t := l.From; t < l.To; t++ {
			from, to := t*c.rows, (t+1)*c.rows
			share := teachers.Dataset{X: dense.Rows(c.x, from, to), Y: c.y[from:to], Classes: 10}
			f, err := c.learners[l.Learner].Fit(ctx, share, nil)
			if err != nil {
				return m, err
			}
			c.fitted = append(c.fitted, f)
		}
		m.timing = w.read(float64(l.To - l.From))
	case "predict":
		w := start()
		for _, f := range c.fitted {
			votes := make([]int, c.queries.Rows)
			if err := f.Predict(votes, c.queries); err != nil {
				return m, err
			}
			c.votes = append(c.votes, votes)
		}
		m.timing = w.read(float64(len(c.fitted) * c.queries.Rows))
	case "score":
		m.score(c.votes, c.truth)
	default:
		return m, fmt.Errorf("no such lesson: %q", l.Do)
	}
	return m, nil
}

func (m *marks) score(votes [][]int, truth []int) {
	for i, y := range truth {
		counts := make([]int64, 10)
		for _, v := range votes {
			counts[v[i]]++
		}
		m.One += float64(counts[y]) / float64(len(votes)*len(truth))
		if dense.Argmax(counts) == y {
			m.Plurality += 1 / float64(len(truth))
		}
	}
}

func (c *class) export(folder string) error {
	write := func(name, kind string, shape []int, data any) error {
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		buffered := bufio.NewWriterSize(f, 1<<20)
		err = npy.WriteHeader(buffered, npy.Header{Type: kind, Shape: shape})
		if err == nil {
			err = binary.Write(buffered, binary.LittleEndian, data)
		}
		return errors.Join(err, buffered.Flush(), f.Close())
	}
	wide := func(y []int) []int64 {
		out := make([]int64, len(y))
		for i, v := range y {
			out[i] = int64(v)
		}
		return out
	}
	said := map[string]any{"rows": c.rows}
	for name, l := range c.learners {
		said[name] = l
	}
	params, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return errors.Join(
		write("x.npy", "<f4", []int{c.x.Rows, c.x.Cols}, c.x.Data),
		write("queries.npy", "<f4", []int{c.queries.Rows, c.queries.Cols}, c.queries.Data),
		write("y.npy", "<i8", []int{len(c.y)}, wide(c.y)),
		write("truth.npy", "<i8", []int{len(c.truth)}, wide(c.truth)),
		os.WriteFile(filepath.Join(folder, "learners.json"), params, 0o600),
	)
}
