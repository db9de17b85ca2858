package recipe

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/testkit"
)

func TestBayesianFiguresStandBesideEpsilon(t *testing.T) {
	task := strokes(t, 240, 80)
	plan := Plan{Recipe: Default(ShapeOf(task), "raw", Linear, 2), Epsilon: 2}
	plan.Recipe.Train.Steps = 12
	plain := config(t, task, plan)
	without := testkit.Must(Run(t.Context(), plain))
	require.Nil(t, without.Typical())
	for _, between := range []dpsgd.Between{dpsgd.Batches, dpsgd.Records} {
		cfg := config(t, task, plan)
		cfg.Typical = &typical.Config{Between: between}
		r := testkit.Must(Run(t.Context(), cfg))
		row := r.Rows[0]
		require.Equal(t, *without.Rows[0].Epsilon, *row.Epsilon)
		require.Equal(t, without.Rows[0].Accuracy, row.Accuracy)
		require.Equal(t, fileIn(t, plain.Dir), fileIn(t, cfg.Dir), "the same model")
		require.Len(t, row.OfTypical, 2)
		for i, e := range []bayes.Estimator{bayes.Bernstein, bayes.StudentT} {
			f := row.OfTypical[i]
			require.Equal(t, e, f.Estimator)
			require.Equal(t, typical.DefaultDelta, f.Delta)
			require.Equal(t, 12, f.Steps)
			require.Zero(t, f.Unseen)
		}
		// What may be published has no trace of it, nor has any file outside private.
		public := testkit.Must(json.Marshal(r.WithoutTimes()))
		require.NotContains(t, strings.ToLower(string(public)), "bayes")
		require.NoError(t, filepath.WalkDir(cfg.Dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, string(filepath.Separator)+"private"+string(filepath.Separator)) {
				return err
			}
			data, err := os.ReadFile(path)
			require.NotContains(t, strings.ToLower(string(data)), "bayes", path)
			return err
		}))
		again := testkit.Must(Run(t.Context(), cfg))
		require.Equal(t, row.OfTypical, again.Rows[0].OfTypical, "kept with the run")
	}
}

// fileIn returns the model below dir.
func fileIn(t *testing.T, dir string) []byte {
	files := testkit.Must(filepath.Glob(filepath.Join(dir, "private", "results", "models", "*")))
	require.Len(t, files, 1)
	data := testkit.Must(os.ReadFile(files[0]))
	return data
}

func TestBayesIsRefusedWhereItDoesNotFit(t *testing.T) {
	task := strokes(t, 240, 80)
	plan := Plan{Recipe: Default(ShapeOf(task), "raw", Linear, 2), Epsilon: 2}
	for name, b := range map[string]*typical.Config{"delta": {Delta: 1}, "nan": {Delta: math.NaN()}, "most": {Most: -1}} {
		cfg := config(t, task, plan)
		cfg.Typical = b
		require.ErrorIs(t, cfg.Validate(), ErrConfig, name)
	}
	plan.Recipe.Train.Clipping.Adaptive = dpsgd.Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 20}
	cfg := config(t, task, plan)
	cfg.Typical = &typical.Config{}
	require.ErrorContains(t, cfg.Validate(), "fixed clip norm")
}
