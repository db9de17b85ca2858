package trees

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/pate-go/pate/teachers"
)

const maxBins = 256

// binned holds the columns of the data that are not constant. Each value is replaced by the index of a bin. A
// larger index means larger values.
type binned struct {
	rows    int
	columns []binnedColumn
}

type binnedColumn struct {
	column    int       // index of the column in the data
	bin       []uint8   // bin of every row
	low, high []float32 // smallest and largest value in each bin
}

func (c *binnedColumn) bins() int { return len(c.low) }

func (c *binnedColumn) threshold(a, b int) float32 {
	below, above := c.high[a], c.low[b]
	middle := below/2 + above/2 // b - a could overflow
	if middle < below || middle >= above {
		return below
	}
	return middle
}

// random draws a uniform threshold `at` between the bins first and last. The last bin below the threshold has
// the index `below`.
func (c *binnedColumn) random(first, last int, rnd *rand.Rand) (below int, at float32) {
	low, high := float64(c.high[first]), float64(c.low[last])
	v := float32(low + rnd.Float64()*(high-low))
	below = first + sort.Search(last-1-first, func(k int) bool { return c.high[first+k+1] > v })
	if v < c.low[below+1] {
		return below, max(v, c.high[below])
	}
	return below, c.threshold(below, below+1) // v is inside bin below+1, so the threshold moves below this bin
}

func newBinned(ctx context.Context, x teachers.Matrix, most int) (*binned, error) {
	b := &binned{rows: x.Rows}
	values, sorted := make([]float32, x.Rows), make([]float32, x.Rows)
	for j := range x.Cols {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range values {
			values[i] = x.Data[i*x.Stride+j]
		}
		c := binnedColumn{column: j}
		if low, high, few := atMostTwo(values); few {
			if low == high {
				continue
			}
			c.low, c.high = []float32{low, high}, []float32{low, high}
		} else {
			copy(sorted, values)
			slices.Sort(sorted)
			c.low, c.high = cut(sorted, most)
		}
		c.bin = make([]uint8, len(values))
		for i, v := range values {
			c.bin[i] = uint8(sort.Search(len(c.high)-1, func(k int) bool { return v <= c.high[k] }))
		}
		b.columns = append(b.columns, c)
	}
	return b, nil
}

func atMostTwo(values []float32) (low, high float32, few bool) {
	low, high = values[0], values[0]
	for _, v := range values {
		switch {
		case v == low || v == high:
		case low != high:
			return low, high, false
		case v < low:
			low = v
		default:
			high = v
		}
	}
	return low, high, true
}

// cut divides sorted values into bins, and returns the smallest and the largest value of each bin. If there
// are at most `most` distinct values, each has its own bin. Otherwise bins have nearly equal numbers of rows.
// Equal values share a bin.
func cut(sorted []float32, most int) (low, high []float32) {
	distinct := 1
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] {
			distinct++
		}
	}
	n := len(sorted)
	for from := 0; from < n; {
		to := from + 1
		if distinct > most {
			// The bin ends when it holds its fraction of the rows. The last bin takes all remaining rows.
			to = min(n, max(to, (len(low)+1)*n/most))
			if len(low) == most-1 {
				to = n
			}
		}
		for to < n && sorted[to] == sorted[to-1] {
			to++
		}
		if to == n && from == 0 && distinct > 1 {
			// Most rows have the largest value, so this value gets its own bin.
			to, _ = slices.BinarySearch(sorted, sorted[n-1])
		}
		low, high = append(low, sorted[from]), append(high, sorted[to-1])
		from = to
	}
	return low, high
}

func binsOrDefault(learner string, bins, standard int) (int, error) {
	if bins == 0 {
		return standard, nil
	}
	if bins < 2 || bins > maxBins {
		return 0, fmt.Errorf("trees: %s.Bins is %d, want 2 to %d", learner, bins, maxBins)
	}
	return bins, nil
}
