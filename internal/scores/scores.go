// Package scores compares predictions with the labels of public rows.
package scores

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// Right returns the number of predictions that equal the labels.
func Right(predicted, labels []int) int {
	right := 0
	for i, y := range labels {
		if predicted[i] == y {
			right++
		}
	}
	return right
}

// Accuracy returns the fraction of predictions that equal the labels, or NaN without labels.
func Accuracy(predicted, labels []int) float64 {
	return float64(Right(predicted, labels)) / float64(len(labels))
}

// Recall returns the fraction of correctly predicted rows of each class, or 0 for a class without rows.
func Recall(predicted, labels []int, classes int) []float64 {
	right, rows := make([]float64, classes), ClassRows(labels, classes)
	for i, y := range labels {
		if predicted[i] == y {
			right[y]++
		}
	}
	for y, n := range rows {
		right[y] /= float64(max(1, n))
	}
	return right
}

// ClassRows returns the number of rows of each class.
func ClassRows(labels []int, classes int) []int {
	rows := make([]int, classes)
	for _, y := range labels {
		rows[y]++
	}
	return rows
}

// MeanRecall returns the mean recall of each class over runs, or nil if a run has no recalls.
func MeanRecall(runs [][]float64) []float64 {
	out := make([]float64, len(runs[0]))
	for _, recall := range runs {
		if len(recall) != len(out) {
			return nil
		}
		for y, v := range recall {
			out[y] += v / float64(len(runs))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Deviation returns the sample standard deviation of at least two runs with the given mean.
func Deviation(runs []float64, mean float64) float64 {
	sum := 0.0
	for _, v := range runs {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(runs)-1))
}

// StandardError returns the standard error of share, a fraction of n independent rows. StandardError adds two
// rows of each outcome (Agresti and Coull 1998). So the error is above 0 even if share is 0 or 1.
func StandardError(share float64, n int) float64 {
	rows := float64(n) + 4
	p := (share*float64(n) + 2) / rows
	return math.Sqrt(p * (1 - p) / rows)
}

// AUROC returns the area under the receiver operating characteristic. Let d be a row's second score minus its
// first score. The area is the probability that d is larger for a row of class 1 than for a row of class 0.
// Ties count half. If a class has no rows or a d is NaN, the result is nil.
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
	rows, wins := [2]float64{}, 0.0 // rows of each class with a smaller difference
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

// Areas returns the mean and the standard deviation of several [AUROC] results, or nils if a result is nil.
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
