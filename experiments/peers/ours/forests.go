//go:build peers

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

type planting struct {
	Kind, Do    string
	Share, Rows int
	Seconds     float64
}

// forests measures the time of fits and predictions of forests on the rows that ../forests.py wrote into
// folder.
func forests(folder string) error {
	var shape struct{ Rows, Cols, Classes, Queries int }
	said, err := os.ReadFile(filepath.Join(folder, "shape.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(said, &shape); err != nil {
		return err
	}
	x, labels := dense.New(shape.Rows+shape.Queries, shape.Cols), make([]int32, shape.Rows+shape.Queries)
	for name, into := range map[string]any{"x": x.Data, "y": labels} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if err := binary.Read(f, binary.LittleEndian, into); err != nil {
			return err
		}
		f.Close()
	}
	y := make([]int, len(labels))
	for i, v := range labels {
		y[i] = int(v)
	}
	queries, truth := dense.Rows(x, shape.Rows, len(y)), y[shape.Rows:]
	fit := func(p planting, share int) (teachers.Classifier, error) {
		from := share * p.Rows % (shape.Rows - p.Rows + 1)
		part := teachers.Dataset{X: dense.Rows(x, from, from+p.Rows), Y: y[from : from+p.Rows], Classes: shape.Classes}
		kind := map[string]trees.Thresholds{"random forest": trees.BestThresholds, "extra trees": trees.RandomThresholds}[p.Kind]
		return trees.Forest{Thresholds: kind}.Fit(context.Background(), part, rand.New(rand.NewPCG(1, uint64(share))))
	}
	right, asked := 0.0, 0.0
	return serve(func(p planting) (m marks, err error) {
		if p.Do == "fit" {
			m.timing, err = repeat(p.Seconds, func() (float64, error) {
				p.Share++
				_, err := fit(p, p.Share)
				return 1, err
			})
			return m, err
		}
		forest, err := fit(p, p.Share)
		if err != nil {
			return m, err
		}
		votes := make([]int, len(truth))
		m.timing, err = repeat(p.Seconds, func() (float64, error) { return float64(len(votes)), forest.Predict(votes, queries) })
		for i, v := range votes {
			if v == truth[i] {
				right++
			}
		}
		asked += float64(len(votes))
		m.One = right / asked
		return m, err
	})
}
