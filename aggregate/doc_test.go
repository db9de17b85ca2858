package aggregate

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// The table of the package comment: noise for (2, 1e-5), and the least lead with
// which the right class is answered often enough.
func TestTableOfThePackageComment(t *testing.T) {
	mechanisms := map[string]func(noise float64, queries int) Mechanism{
		"LNMax":          func(noise float64, queries int) Mechanism { return lnmax(t, noise, queries) },
		"GNMax":          func(noise float64, queries int) Mechanism { return gnmax(t, noise, queries) },
		"Exponential":    func(noise float64, queries int) Mechanism { return exponential(t, noise, queries) },
		"PermuteAndFlip": func(noise float64, queries int) Mechanism { return permuteAndFlip(t, noise, queries) },
	}
	epsilon := func(m Mechanism) float64 {
		account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
		require.NoError(t, account.Compose(m.Event(), 1))
		return testkit.Must(account.Epsilon(context.Background(), 1e-5)).Upper
	}
	for _, row := range []struct {
		name           string
		queries        int
		noise          float64
		classes        int
		likely, almost int
	}{
		{"LNMax", 1, 1, 10, 6, 11}, {"LNMax", 100, 30.1, 10, 163, 301}, {"LNMax", 1000, 96, 10, 519, 958},
		{"GNMax", 1, 3, 10, 11, 17}, {"GNMax", 100, 30.4, 10, 105, 159}, {"GNMax", 1000, 96.1, 10, 330, 500},
		{"Exponential", 1, 1, 10, 6, 10}, {"Exponential", 100, 21.4, 10, 110, 195}, {"Exponential", 1000, 67.9, 10, 350, 619},
		{"PermuteAndFlip", 1, 1, 10, 5, 9}, {"PermuteAndFlip", 100, 42.2, 10, 189, 356}, {"PermuteAndFlip", 1000, 135.7, 10, 607, 1142},
		{"GNMax", 1000, 96.1, 2, 225, 421}, {"Exponential", 1000, 67.9, 2, 200, 470},
	} {
		with := mechanisms[row.name]
		low, high := row.noise/1.1, row.noise*1.1
		for range 30 {
			if mid := (low + high) / 2; epsilon(with(mid, row.queries)) > 2 {
				low = mid
			} else {
				high = mid
			}
		}
		require.InDelta(t, row.noise, high, 0.0501, "%+v", row)
		m := with(high, row.queries)
		right := func(lead int) float64 {
			counts := make([]int, row.classes)
			counts[row.classes-1] = lead
			return math.Exp(testkit.Must(m.Law(histogram(t, counts...))).LogLabels[row.classes-1])
		}
		for lead, p := range map[int]float64{row.likely: 0.95, row.almost: 0.999} {
			require.GreaterOrEqual(t, right(lead), p, "%+v", row)
			require.Less(t, right(lead-1), p, "%+v", row)
		}
	}
}
