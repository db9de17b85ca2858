package recipe

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
)

// inUnits gives every three rows to one unit.
func inUnits(task dataset.Task) dataset.Task {
	task.Grouped = true
	task.Private.Units = append([]string(nil), task.Private.Units...)
	for i := range task.Private.Units {
		task.Private.Units[i] = task.Private.Units[i/3*3]
	}
	return task
}

// TestUnitsOfSeveralRowsCostWhatOneRowDoes: with more rows of a unit the charges stay, for
// features that learn from private rows too, and all rows are trained on.
func TestUnitsOfSeveralRowsCostWhatOneRowDoes(t *testing.T) {
	task := inUnits(strokes(t, 240, 40))
	require.Equal(t, 80, ShapeOf(task).Records)
	for _, set := range []string{features.NameHOG, CentredHOG} {
		r := Default(ShapeOf(task), set, "", 4)
		r.Train.Steps = 10
		var events [][]accountant.Event
		for _, rows := range []int{1, 2, 3} {
			c := config(t, task, Plan{Recipe: r, NoiseMultiplier: 3})
			c.RowsPerUnit = rows
			result, err := Run(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, 80, result.Private)
			require.Contains(t, result.Note, "record, which is what epsilon is for")
			events = append(events, result.Rows[0].Account.Events)
			again, err := Run(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, result.Rows, again.Rows)
			c.RowsPerUnit = rows%3 + 1
			_, err = Run(t.Context(), c)
			require.ErrorIs(t, err, ErrOtherRun, "another bound is another run")
		}
		require.Equal(t, events[0], events[1])
		require.Equal(t, events[0], events[2])
	}
}

// TestADeclaredNumberOfUnits takes the place of the number in the data everywhere: a unit
// more or fewer changes no charge and nothing that is said.
func TestADeclaredNumberOfUnits(t *testing.T) {
	of := func(private int) *Result {
		task := inUnits(strokes(t, private, 40))
		task.Test = dataset.Set{Classes: task.Classes, Image: task.Image} // no public row is labelled
		task.Pool = task.Test
		c := config(t, task)
		c.RowsPerUnit, c.Records = 3, 75
		r := Default(c.Shape(), features.NameHOG, "", 4)
		r.Train.Steps = 5
		c.Plans = []Plan{{Recipe: r, Epsilon: 4}}
		result, err := Run(t.Context(), c)
		require.NoError(t, err)
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
		_, err := Run(t.Context(), c)
		require.NoError(t, err)
		m, err := OpenModel(filepath.Join(c.Dir, "private", "results", "models", c.Plans[0].name()+"-run-0.model"))
		require.NoError(t, err)
		return m.network.Parameters()
	}
	one, half := parameters(240), parameters(480)
	for i, v := range one {
		require.InDelta(t, v/2, half[i], 0.01)
	}
	require.Greater(t, slices.Max(one), float32(1))
}
