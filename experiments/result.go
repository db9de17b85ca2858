package experiments

import (
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/scores"
)

const Schema = "pate.compare/1"

// Result is the result of a comparison. The JSON form is a part of the stable command line interface.
type Result struct {
	Schema     string `json:"schema"`
	Data       string `json:"data"`
	Provenance string `json:"provenance,omitempty"`
	Split      string `json:"split"`
	Private    int    `json:"private"` // number of units
	Pool       int    `json:"pool"`
	// PoolOf is [PoolNone], [PoolMarginals] or [PoolTree] for an artificial pool, and "" for public rows.
	// Rows of an artificial pool have no true labels.
	PoolOf  string `json:"pool_of,omitempty"`
	Test    int    `json:"test"`
	TestOf  int    `json:"test_of,omitempty"` // if Test is a fixed random part: all test rows
	Classes int    `json:"classes"`
	// ClassNames and ClassRows (number of test rows of each class) are missing in results of earlier
	// versions.
	ClassNames    []string `json:"class_names,omitempty"`
	ClassRows     []int    `json:"class_rows,omitempty"`
	Features      string   `json:"features"`
	Dimensions    int      `json:"dimensions"`
	Teachers      int      `json:"teachers"`
	Learner       string   `json:"learner"`
	Student       string   `json:"student"`
	EpsilonTarget float64  `json:"epsilon_target"` // the first target
	// EpsilonTargets lists all targets, if there are several.
	EpsilonTargets []float64 `json:"epsilon_targets,omitempty"`
	Delta          float64   `json:"delta"`
	Relation       string    `json:"relation"`
	Unit           string    `json:"unit"`
	Seeds          int       `json:"seeds"`
	// Releasable is true if the whole result may be released: it contains no unprotected row, no diagnostics
	// and no seeded noise.
	Releasable bool `json:"releasable"`
	// Withheld is the reason why no result may be released (see [dataset.Task.Withheld]).
	Withheld    string       `json:"withheld,omitempty"`
	Silos       []string     `json:"silos,omitempty"`   // names, if the private rows are in silos
	Seeded      bool         `json:"seeded"`            // all noise can be removed with the seed
	Seconds     float64      `json:"seconds,omitempty"` // whole seconds, rounded up
	Rows        []Row        `json:"rows"`
	Differences []Difference `json:"differences,omitempty"`

	// EpsilonAll is the cost of all private methods and all seeds together, at Delta.
	EpsilonAll float64 `json:"epsilon_all,omitempty"`

	// Diagnostics are computed from the private data and not charged, so they must not be published.
	Diagnostics *Diagnostics `json:"diagnostics,omitempty"`
}

// Typical returns the Bayesian privacy figures of each row of r, or nil if no row has figures.
func (r *Result) Typical() typical.Rows {
	return typical.Of(r.Rows, func(row Row) typical.Figures { return row.Figures })
}

// WithoutTimes returns a copy without running times and [typical.Figures], which may depend on private rows.
func (r *Result) WithoutTimes() *Result {
	out := *r
	out.Seconds, out.Rows = 0, slices.Clone(r.Rows)
	for i := range out.Rows {
		out.Rows[i].Seconds, out.Rows[i].Figures = 0, typical.Figures{}
	}
	return &out
}

// AllDeclined reports whether private votes were used and no query was answered.
func (r *Result) AllDeclined() bool {
	asked, answered := 0, 0
	for _, row := range r.Rows {
		asked, answered = asked+row.Asked, answered+row.Answered
	}
	return asked > 0 && answered == 0
}

// Row is the result of one method. Accuracy and SD are the mean and the standard deviation of the test
// accuracy over seeds. Epsilon is absent if the method is not private.
type Row struct {
	Method string `json:"method"`
	// TargetEpsilon is absent if the row depends on no target.
	TargetEpsilon float64  `json:"target_epsilon,omitempty"`
	Epsilon       *float64 `json:"epsilon,omitempty"` // upper bound, data-independent
	// Accountant is the accounting method that gave Epsilon: "pld" or "rdp". For DP-SGD, Accountant is "".
	Accountant accountant.Method `json:"accountant,omitempty"`
	Releasable bool              `json:"releasable"` // charged, with cryptographic noise
	Accuracy   float64           `json:"accuracy"`
	// ConstantAccuracy is the accuracy of always predicting the most frequent class of the test rows.
	// BalancedAccuracy is the mean of Recall over classes with test rows. OneClassRuns is the number of runs
	// that predict one class for all test rows. Results of earlier versions lack these three fields.
	ConstantAccuracy float64  `json:"constant_accuracy,omitempty"`
	BalancedAccuracy float64  `json:"balanced_accuracy,omitempty"`
	OneClassRuns     int      `json:"one_class_runs,omitempty"`
	SD               *float64 `json:"sd,omitempty"` // absent for one seed
	// Runs has the accuracy of each run; nil for one run. Method pknn/one-silo has one run per silo and seed.
	Runs []float64 `json:"runs,omitempty"`
	// StandardError is the standard error of Accuracy over the test rows, or 0 in results of earlier
	// versions.
	StandardError float64 `json:"standard_error,omitempty"`
	// Recall holds the fraction of correctly predicted test rows of each class, as a mean over runs. A class
	// without test rows has 0. Results of earlier versions lack Recall.
	Recall []float64 `json:"recall,omitempty"`
	// AUROC is the area under the receiver operating characteristic. It is nil if there are more than two
	// classes or the method has no scores. AUROCSD is the standard deviation over seeds.
	AUROC           *float64 `json:"auroc,omitempty"`
	AUROCSD         *float64 `json:"auroc_sd,omitempty"`
	Answered        int      `json:"answered,omitempty"`
	Asked           int      `json:"asked,omitempty"`
	LabelAccuracy   float64  `json:"label_accuracy,omitempty"` // of the released labels
	Sigma           float64  `json:"sigma,omitempty"`          // noise of each vote count
	Threshold       float64  `json:"threshold,omitempty"`
	SigmaThreshold  float64  `json:"sigma_threshold,omitempty"`
	Steps           int      `json:"steps,omitempty"`
	Probability     float64  `json:"sampling_probability,omitempty"`
	NoiseMultiplier float64  `json:"noise_multiplier,omitempty"`
	// Seconds is rounded up to a whole number. If two methods run concurrently, each method counts half of
	// the time.
	Seconds float64 `json:"seconds,omitempty"`
	// Student lists the candidate models that cross-validation selected in the first run.
	Student string `json:"student,omitempty"`
	Note    string `json:"note,omitempty"`
	// Account is the schedule from which `pate account` recomputes Epsilon.
	Account *accountant.Schedule `json:"account,omitempty"`
	// Charged has the cost of each kind of release.
	Charged []Charge `json:"charged,omitempty"`
	// Curve is the accuracy in the first run as a function of the spent budget, if Config.Curves is true.
	Curve []Point `json:"curve,omitempty"`
	typical.Figures
	predicted [][]int                // classes of the test rows, of each run
	bySilo    []*accountant.Schedule // costs for units of each silo, if silos have different costs
}

// OneClass reports whether every run predicts one class for all test rows.
func (r Row) OneClass() bool { return r.OneClassRuns > 0 && r.OneClassRuns >= len(r.Runs) }

// ByTeachers reports whether the row's labels are released from votes of teachers.
func (r Row) ByTeachers() bool {
	return r.Epsilon != nil && r.Asked > 0 && !slices.Contains(neighbourMethods(), r.Method)
}

// Charge is the cost of one kind of release in a method.
type Charge struct {
	Event string  `json:"event"` // such as "noisy argmax of votes, discrete Gaussian, σ 52.1"
	Count int64   `json:"count"`
	Share float64 `json:"share"` // share of the Rényi divergence at the order that gives the least epsilon, in [0, 1]
}

// Point is the accuracy of a model when Epsilon of the budget is spent.
type Point struct {
	Epsilon  float64 `json:"epsilon"`
	Accuracy float64 `json:"accuracy"`
}

// Diagnostics describes the teachers of the first seed.
type Diagnostics struct {
	Private         bool    `json:"private"` // always true: not for release
	TeacherAccuracy float64 `json:"teacher_accuracy"`
	MeanGap         float64 `json:"mean_gap"`
	// Gaps is a histogram of the differences between the two largest vote counts of a query. Bin i counts
	// gaps in [i*GapWidth, (i+1)*GapWidth).
	Gaps     []int `json:"gaps"`
	GapWidth int   `json:"gap_width"`
}

// Difference compares the private methods A and B at one target.
type Difference struct {
	TargetEpsilon float64 `json:"target_epsilon"`
	A             string  `json:"a"`
	B             string  `json:"b"`
	// Mean is the accuracy of A minus the accuracy of B, with the 95 % interval from Low to High.
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Balanced is the difference in balanced accuracy; absent from results of earlier versions.
	Balanced *scores.Interval `json:"balanced,omitempty"`
	// Better is the method with significantly higher accuracy, or "".
	Better string `json:"better,omitempty"`
}

// Differs reports whether the methods differ significantly in accuracy or in balanced accuracy.
func (d Difference) Differs() bool {
	return d.Better != "" || d.Balanced != nil && d.Balanced.Differs()
}

func (c Config) differences(rows []Row) []Difference {
	var out []Difference
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if a.Epsilon != nil && b.Epsilon != nil && a.TargetEpsilon == b.TargetEpsilon {
				out = append(out, difference(a, b, c.Task.Test.Y, len(c.Task.Classes)))
			}
		}
	}
	return out
}

func repeated(runs [][]int, n int) [][]int {
	out := make([][]int, n)
	for i := range out {
		out[i] = runs[i*len(runs)/n]
	}
	return out
}

func difference(a, b Row, labels []int, classes int) Difference {
	runs := max(len(a.predicted), len(b.predicted))
	accuracy, balanced := scores.Paired(repeated(a.predicted, runs), repeated(b.predicted, runs), labels, classes)
	d := Difference{TargetEpsilon: a.TargetEpsilon, A: a.Method, B: b.Method,
		Mean: accuracy.Mean, Low: accuracy.Low, High: accuracy.High, Balanced: &balanced}
	switch {
	case d.Low > 0:
		d.Better = d.A
	case d.High < 0:
		d.Better = d.B
	}
	return d
}
