// Package scores says how well predictions of public rows agree with their labels.
package scores

import "math"

// Right counts the predictions that equal the labels.
func Right(predicted, labels []int) int {
	right := 0
	for i, y := range labels {
		if predicted[i] == y {
			right++
		}
	}
	return right
}

// Accuracy returns the share of predictions that equal the labels; NaN without labels.
func Accuracy(predicted, labels []int) float64 {
	return float64(Right(predicted, labels)) / float64(len(labels))
}

// Recall returns, for every class, the share of its rows that were predicted as it; 0 for a
// class of no rows.
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

// ClassRows counts the rows of every class.
func ClassRows(labels []int, classes int) []int {
	rows := make([]int, classes)
	for _, y := range labels {
		rows[y]++
	}
	return rows
}

// MeanRecall averages what runs of one method recalled, class by class; nil if a run does not
// say.
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

// Deviation returns the standard deviation of runs, at least two, around their mean.
func Deviation(runs []float64, mean float64) float64 {
	sum := 0.0
	for _, v := range runs {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(runs)-1))
}

// StandardError returns the standard error of a share that was found on n rows. Two rows of
// each outcome are added (Agresti and Coull 1998), so that a share of 0 or 1 of few rows
// has an error too. It does not cover how rows of one unit resemble each other.
func StandardError(share float64, n int) float64 {
	rows := float64(n) + 4
	p := (share*float64(n) + 2) / rows
	return math.Sqrt(p * (1 - p) / rows)
}
