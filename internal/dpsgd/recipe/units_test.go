package recipe

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/run"
)

// inUnits gives every so many rows to one unit.
func inUnits(task dataset.Task, rows int) dataset.Task {
	task.Grouped = true
	task.Private.Units = slices.Clone(task.Private.Units)
	for i := range task.Private.Units {
		task.Private.Units[i] = task.Private.Units[i/rows*rows]
	}
	return task
}

func TestTrainingIsGivenUnits(t *testing.T) {
	task := inUnits(strokes(t, 60, 20), 3)
	for _, set := range []string{features.NamePixels, features.NameHOG, CentredHOG} {
		c := testkit.Must(config(t, task, Plan{Recipe: Default(ShapeOf(task), set, "", 4), NonPrivate: true}).withDefaults())
		r := &runner{Config: c, shape: c.Shape()}
		r.RowsPerUnit = 2
		var err error
		r.Task.Private, r.ends, err = r.rowsOfUnits(task.Private)
		require.NoError(t, err)
		j := job{runner: r, plan: c.Plans[0]}
		p := testkit.Must(j.prepare(t.Context(), nil))
		require.Equal(t, 20, p.train.Records(), set)
		require.Equal(t, r.ends, p.train.Ends, set)
		require.Len(t, p.train.Y, 40, set)
	}
}

// TestASecondRowMovesTheSumByOneClipNorm: with two equal rows a unit contributes one clip norm,
// with a second row of the other class nothing. Clipped one by one its rows would contribute two.
func TestASecondRowMovesTheSumByOneClipNorm(t *testing.T) {
	const units = 60
	task := inUnits(strokes(t, 2*units, 20), 2)
	copy(task.Private.X.Data[256:512], task.Private.X.Data[:256])
	sum := func(second int) []float32 {
		task.Private.Y = slices.Clone(task.Private.Y)
		task.Private.Y[1] = second
		r := Recipe{Features: features.NamePixels, Model: Linear, Train: dpsgd.Config{SamplingProbability: 1, ClipNorm: 1, Steps: 1, LearningRate: units}}
		c := config(t, task, Plan{Recipe: r, NoiseMultiplier: 0x1p-10})
		c.RowsPerUnit = 2
		require.NoError(t, testkit.Err(Run(t.Context(), c)))
		m := modelOf(t, c, c.Plans[0].name()+"-run-0.model")
		return m.network.Parameters()
	}
	moved, square := sum(task.Private.Y[0]), 0.0
	for i, x := range sum(1 - task.Private.Y[0]) {
		square += math.Pow(float64(moved[i]-x), 2)
	}
	require.InDelta(t, 1, math.Sqrt(square), 0.05)
}

func TestUnitsOfSeveralRowsCostWhatOneRowDoes(t *testing.T) {
	task := inUnits(strokes(t, 240, 40), 3)
	require.Equal(t, 80, ShapeOf(task).Records)
	for _, set := range []string{features.NameHOG, CentredHOG} {
		r := Default(ShapeOf(task), set, "", 4)
		r.Train.Steps = 10
		var events [][]accountant.Event
		for _, rows := range []int{1, 2, 3} {
			c := config(t, task, Plan{Recipe: r, NoiseMultiplier: 3})
			c.RowsPerUnit = rows
			result := testkit.Must(Run(t.Context(), c))
			require.Equal(t, 80, result.Private)
			require.Contains(t, result.Note, "record, which is what epsilon is for")
			events = append(events, result.Rows[0].Account.Events)
			require.Equal(t, result.Rows, testkit.Must(Run(t.Context(), c)).Rows)
			c.RowsPerUnit = rows%3 + 1
			require.ErrorIs(t, testkit.Err(Run(t.Context(), c)), run.ErrOtherRun, "another bound is another run")
		}
		require.Equal(t, events[0], events[1])
		require.Equal(t, events[0], events[2])
	}
}

func TestADeclaredNumberOfUnits(t *testing.T) {
	of := func(private int) *Result {
		task := inUnits(strokes(t, private, 40), 3)
		task.Test = dataset.Set{Classes: task.Classes, Image: task.Image} // no public row is labelled
		task.Pool = task.Test
		c := config(t, task)
		c.RowsPerUnit, c.Records = 3, 75
		r := Default(c.Shape(), features.NameHOG, "", 4)
		r.Train.Steps = 5
		c.Plans = []Plan{{Recipe: r, Epsilon: 4}}
		result := testkit.Must(Run(t.Context(), c))
		require.FileExists(t, filepath.Join(c.Dir, "private", "results", "models", "epsilon-4-run-0.model"))
		return result.WithoutTimes()
	}
	want := of(240)
	require.Equal(t, 75, want.Private)
	require.Equal(t, 0, want.Test)
	require.Equal(t, want, of(237))
	require.Equal(t, want, of(180))
}

// TestADeclaredNumberDividesSums: an update is the sum over the expected size of a batch, by
// the declared number. By the number in the data it would tell that number.
func TestADeclaredNumberDividesSums(t *testing.T) {
	task := strokes(t, 240, 40)
	parameters := func(records int) []float32 {
		c := config(t, task)
		c.Records = records
		r := Recipe{Features: features.NamePixels, Model: Linear, Train: dpsgd.Config{SamplingProbability: 1, ClipNorm: 1, Steps: 1, LearningRate: 64}}
		c.Plans = []Plan{{Recipe: r, NoiseMultiplier: 0.01}} // against a sum of 240 records
		require.NoError(t, testkit.Err(Run(t.Context(), c)))
		m := modelOf(t, c, c.Plans[0].name()+"-run-0.model")
		return m.network.Parameters()
	}
	one, half := parameters(240), parameters(480)
	for i, v := range one {
		require.InDelta(t, v/2, half[i], 0.01)
	}
	require.Greater(t, slices.Max(one), float32(1))
}
