package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/experiments"
)

func TestUseNamesOneMethodForEachTarget(t *testing.T) {
	r := sweep()
	require.Equal(t, "Use dpsgd/linear at ε 0.5 to 2 (best beyond chance at 1 of these 2, within chance of the best elsewhere).",
		use(advise(atTwo(r, 0.91))), "one that comes out first by chance does not change it")
	r.Differences[1].Better = experiments.GNMax
	require.Equal(t, "Use dpsgd/linear at ε 0.5 (best beyond chance); pate/gnmax at ε 2 (best beyond chance).", use(advise(r)))
	r.Rows = r.Rows[1:2]
	r.Differences = nil
	require.Equal(t, "Use dpsgd/linear at ε 0.5 (no other private method was run).", use(advise(r)))
	r.Rows = nil
	require.Empty(t, advise(r))
	require.Equal(t, "Use pate/confident-gnmax at ε 2 (as good as any, within chance).", use([]advice{{Epsilon: 2, Row: experiments.Row{Method: experiments.ConfidentGNMax}, Ties: []string{"x"}}}))
}

// atTwo sets the accuracy of GNMax at ε 2.
func atTwo(r *experiments.Result, accuracy float64) *experiments.Result {
	r.Rows[2].Accuracy = accuracy
	return r
}

// The whole curve tells less than ε and δ, and one Gaussian release is known in closed form.
func TestRiskIsThatOfWhatWasCharged(t *testing.T) {
	epsilon, delta := 2.0, 1e-5
	row := experiments.Row{Epsilon: &epsilon}
	point := riskOf(row, delta)
	require.Equal(t, risk{statement.Right(2, delta), statement.TPR(2, delta, 0.01)}, point)
	row.Account = &accountant.Schedule{Relation: accountant.AddRemove, Events: []accountant.Event{accountant.Gaussian{NoiseMultiplier: 2}}}
	curve := riskOf(row, delta)
	require.InDelta(t, 0.59871, curve.Right, 1e-5, "normal(1/(2 sigma))")
	require.InDelta(t, 0.033907, curve.Found, 1e-5, "normal(normal^-1(0.01) + 1/sigma)")
	require.Less(t, curve.Found, point.Found)
	row.Account.Events = append(row.Account.Events, accountant.NonPrivate{})
	require.Equal(t, point, riskOf(row, delta), "no more than epsilon and delta allow")
}

func TestAWaterfallAddsUpAndShowsGains(t *testing.T) {
	r := sample()
	require.Empty(t, waterfalls(r), "without the vote without noise")
	r.Rows = append(r.Rows, experiments.Row{Method: experiments.Plurality, Accuracy: 0.95}, experiments.Row{Method: experiments.TrueLabels, Accuracy: 0.987})
	falls := waterfalls(r)
	require.Len(t, falls, 1)
	var values, kinds []string
	for _, s := range falls[0].Steps {
		values, kinds = append(values, s.Value), append(kinds, s.Kind)
		require.GreaterOrEqual(t, s.Left, 0.0)
		require.LessOrEqual(t, s.Left+s.Width, 100+1e-9)
	}
	require.Equal(t, []string{"99.0", "−4.0", "+4.0", "−0.5", "98.5"}, values)
	require.Equal(t, []string{"level", "loss", "gain", "loss", "level"}, kinds)
	require.Equal(t, "98.7", falls[0].Known)
}

func TestClassTables(t *testing.T) {
	r := sample()
	require.Empty(t, classTables(r), "results of earlier versions")
	r.ClassNames, r.ClassRows = []string{"cat", "dog", "none"}, []int{3, 1, 0}
	r.Rows[0].Recall = []float64{1, 0.5, 0}
	tables := classTables(r)
	require.Len(t, tables, 1)
	require.Equal(t, []string{experiments.ConfidentGNMax}, tables[0].Methods)
	require.Equal(t, []classCell{{Text: "50.0", Width: 50, Worst: true}}, tables[0].Rows[1].Cells)
	require.Equal(t, []classCell{{Text: "–"}}, tables[0].Rows[2].Cells)
}
