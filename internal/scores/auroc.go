package scores

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// AUROC returns the area under the receiver operating characteristic of rows of two scores, one
// of each class: how often a row of class 1 has a larger difference of the second from the
// first than a row of class 0, equal ones counting half. It is nil where a class has no row, or
// a difference is not a number.
func AUROC(of blas32.General, labels []int) *float64 {
	margins := make([]float64, len(labels))
	order := make([]int, len(labels))
	for i := range order {
		row := of.Data[i*of.Stride:]
		order[i], margins[i] = i, float64(row[1])-float64(row[0])
		if margins[i] != margins[i] {
			return nil
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(margins[i], margins[j]) })
	rows, wins := [2]float64{}, 0.0 // of each class, below those at hand
	for from := 0; from < len(order); {
		at, to := [2]float64{}, from // rows of each class with this difference
		for ; to < len(order) && margins[order[to]] == margins[order[from]]; to++ {
			at[labels[order[to]]]++
		}
		wins += at[1] * (rows[0] + at[0]/2)
		rows[0], rows[1] = rows[0]+at[0], rows[1]+at[1]
		from = to
	}
	if rows[0] == 0 || rows[1] == 0 {
		return nil
	}
	area := wins / (rows[0] * rows[1])
	return &area
}

// Areas returns the mean of what runs say, nil if one of them does not, and their standard
// deviation, nil if there is one run.
func Areas(runs []*float64) (mean, sd *float64) {
	all, sum := make([]float64, len(runs)), 0.0
	for i, v := range runs {
		if v == nil {
			return nil, nil
		}
		all[i] = *v
		sum += *v / float64(len(runs))
	}
	if len(all) > 1 {
		of := Deviation(all, sum)
		sd = &of
	}
	return &sum, sd
}
