package marginals

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/table"
)

// PoolShare is the part of a budget that marginals take from which a pool is drawn. A histogram of
// thousands of rows needs little.
const PoolShare = 0.1

// ForPool returns marginals of cfg, whose Sigma is not taken, that use [PoolShare] of a budget.
func ForPool(ctx context.Context, cfg Config, budget accountant.Target) (*Marginals, error) {
	return ofShare(ctx, cfg, budget, PoolShare)
}

// ofShare returns marginals of cfg, whose Sigma is not taken, that use a share of the Rényi divergence of a
// budget, which is proportional to the inverse square of noise.
func ofShare(ctx context.Context, cfg Config, budget accountant.Target, share float64) (*Marginals, error) {
	if !(share > 0 && share <= 1) {
		return nil, fmt.Errorf("marginals: a share of %v, want one in (0, 1]", share)
	}
	event := func(sigma float64) (accountant.Event, error) {
		cfg.Sigma = sigma
		m, err := New(cfg)
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	}
	whole, _, err := accountant.CalibrateNoise(ctx, accountant.AutoConfig{Relation: cfg.Relation}.NewAccount, budget, event)
	if err != nil {
		return nil, fmt.Errorf("marginals: noise: %w", err)
	}
	cfg.Sigma = whole / math.Sqrt(share)
	return New(cfg)
}

// Weights returns the relative frequency of each bin of each column by noisy counts, 0 where they are below
// zero; nil without counts.
func Weights(counts [][]int64) [][]float64 {
	if counts == nil {
		return nil
	}
	weights := make([][]float64, len(counts))
	for j, column := range counts {
		weights[j] = make([]float64, len(column))
		for b, n := range column {
			weights[j][b] = math.Max(0, float64(n))
		}
	}
	return weights
}

// Write writes noisy counts as CSV. Describe names a column and its bins.
func Write(out io.Writer, counts [][]int64, describe func(column int) (name string, bins []string)) error {
	file := table.Table{Header: []string{"column", "values", "noisy count"}}
	for j, column := range counts {
		name, values := describe(j)
		for b, n := range column {
			file.Rows = append(file.Rows, []string{name, values[b], strconv.FormatInt(n, 10)})
		}
	}
	var text bytes.Buffer
	if err := file.Write(&text, table.CSV); err != nil {
		return err
	}
	_, err := out.Write(text.Bytes())
	return err
}

// Read reads the output of Write, of columns with so many bins.
func Read(file io.Reader, bins []int) ([][]int64, error) {
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("marginals: %w", err)
	}
	counts, at := make([][]int64, len(bins)), 1
	for column, n := range bins {
		for range n {
			if at >= len(lines) || len(lines[at]) != 3 {
				return nil, errors.New("marginals: the file does not have the bins that are declared")
			}
			count, err := strconv.ParseInt(lines[at][2], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("marginals: %w", err)
			}
			counts[column] = append(counts[column], count)
			at++
		}
	}
	return counts, nil
}
