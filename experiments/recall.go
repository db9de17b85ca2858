package experiments

// recall returns, for every class, the share of its test rows that were predicted as it; 0 for
// a class of no test rows. Test rows are public.
func recall(predicted, labels []int, classes int) []float64 {
	right, rows := make([]float64, classes), classRows(labels, classes)
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

// classRows counts the rows of every class.
func classRows(labels []int, classes int) []int {
	rows := make([]int, classes)
	for _, y := range labels {
		rows[y]++
	}
	return rows
}

// meanRecall averages what runs of one method recalled; nil if a run does not say.
func meanRecall(runs []Row) []float64 {
	out := make([]float64, len(runs[0].Recall))
	for _, r := range runs {
		if len(r.Recall) != len(out) {
			return nil
		}
		for y, v := range r.Recall {
			out[y] += v / float64(len(runs))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
