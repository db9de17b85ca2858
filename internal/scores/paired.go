package scores

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Level is the confidence level of an interval for one pair of methods.
const Level = 0.95

// Interval is the difference between two methods, with a confidence interval from Low to High.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Differs reports whether 0 is outside the confidence interval.
func (i Interval) Differs() bool { return i.Low > 0 || i.High < 0 }

func Constant(predicted []int) bool {
	for _, y := range predicted {
		if y != predicted[0] {
			return false
		}
	}
	return true
}

// Balanced returns the mean recall of the classes that have rows, or 0 if no class has rows.
func Balanced(recall []float64, rows []int) float64 {
	sum, classes := 0.0, 0.0
	for y, v := range recall {
		if rows[y] > 0 {
			sum, classes = sum+v, classes+1
		}
	}
	return sum / max(1, classes)
}

func discordant(a, b, labels []int, classes int) (won, lost []float64) {
	won, lost = make([]float64, classes), make([]float64, classes)
	for i, y := range labels {
		switch {
		case a[i] == y && b[i] != y:
			won[y]++
		case a[i] != y && b[i] == y:
			lost[y]++
		}
	}
	return won, lost
}

// Paired compares the predictions a and b of two methods on the same rows. It returns the differences in
// accuracy and in balanced accuracy, a minus b. Runs a[i] and b[i] share a seed.
func Paired(a, b [][]int, labels []int, classes int) (accuracy, balanced Interval) {
	// For one run, the interval of accuracy is from McNemar's exact test. Among the rows that exactly one
	// method predicts correctly, the number of correct predictions by a is binomial (Clopper and Pearson
	// 1934). The interval of balanced accuracy is a normal approximation. It adds to each class one row that
	// exactly one method predicts correctly, and one other row (Agresti and Min 2005). For several runs, let
	// h be the mean half width of these intervals. Let t be the half width of Student's t interval for the
	// mean of the runs' differences. The half width of the result is sqrt(h^2 + t^2).
	rows, normal := ClassRows(labels, classes), distuv.UnitNormal.Quantile((1+Level)/2)
	var halves [2][2]float64 // of accuracy and of balanced accuracy: below and above
	var runs [2][]float64
	n := float64(len(a))
	for run := range a {
		won, lost := discordant(a[run], b[run], labels, classes)
		wins, losses, mean, variance, present := 0.0, 0.0, 0.0, 0.0, 0.0
		for y, count := range rows {
			if count == 0 {
				continue
			}
			wins, losses, present = wins+won[y], losses+lost[y], present+1
			off, size := won[y]-lost[y], float64(count)
			mean += off / size
			variance += (won[y] + lost[y] + 1 - off*off/(size+2)) / ((size + 2) * (size + 2))
		}
		mean /= present
		half := normal * math.Sqrt(variance) / present
		low, high := exact(wins, losses)
		off, all := (wins-losses)/float64(len(labels)), (wins+losses)/float64(len(labels))
		runs[0], runs[1] = append(runs[0], off), append(runs[1], mean)
		halves[0][0] += (off - all*(2*low-1)) / n
		halves[0][1] += (all*(2*high-1) - off) / n
		halves[1][0] += half / n
		halves[1][1] += half / n
	}
	var of [2]Interval
	for i, values := range runs {
		mean := 0.0
		for _, v := range values {
			mean += v / n
		}
		more := 0.0
		if len(values) > 1 {
			more = distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1+Level)/2) * Deviation(values, mean) / math.Sqrt(n)
		}
		of[i] = Interval{mean, mean - math.Hypot(halves[i][0], more), mean + math.Hypot(halves[i][1], more)}
	}
	return of[0], of[1]
}

func exact(wins, losses float64) (low, high float64) {
	low, high = 0, 1
	if wins+losses == 0 {
		return 0.5, 0.5
	}
	if wins > 0 {
		low = distuv.Beta{Alpha: wins, Beta: losses + 1}.Quantile((1 - Level) / 2)
	}
	if losses > 0 {
		high = distuv.Beta{Alpha: wins + 1, Beta: losses}.Quantile((1 + Level) / 2)
	}
	return low, high
}
