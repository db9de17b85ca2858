package recipe

import (
	"encoding/json"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/typical"
)

// Schema names the JSON form of a Result.
const Schema = "pate.dpsgd/1"

// Result holds the rows of a run, one a plan. Its JSON form is a contract of the command line. Nothing in it
// but running times and figures of a typical record is an uncharged function of the private data;
// [Result.WithoutTimes] may be published.
type Result struct {
	Schema     string  `json:"schema"`
	Data       string  `json:"data"`
	Provenance string  `json:"provenance,omitempty"`
	Split      string  `json:"split"`
	Private    int     `json:"private"` // records trained on, one a unit
	Test       int     `json:"test"`
	Classes    int     `json:"classes"`
	Delta      float64 `json:"delta"`
	Relation   string  `json:"relation"`
	Unit       string  `json:"unit"`
	// Releasable is true if everything here may leave: every row was charged, with cryptographic noise, and
	// nothing is withheld.
	Releasable bool `json:"releasable"`
	// Withheld is the reason why nothing may leave whatever was charged, as [dataset.Task.Withheld].
	Withheld   string       `json:"withheld,omitempty"`
	Seeded     bool         `json:"seeded"`
	Seeds      int          `json:"seeds"`
	Rows       []Row        `json:"rows"`
	Seconds    float64      `json:"seconds,omitempty"`     // whole, rounded up
	EpsilonAll float64      `json:"epsilon_all,omitempty"` // cost of all rows and all seeds together
	Ledger     *LedgerState `json:"ledger,omitempty"`      // if it is a shared one
	Note       string       `json:"note,omitempty"`
}

// WithoutTimes returns a copy without the parts that may depend on private rows: running times and figures of
// a typical record.
func (r *Result) WithoutTimes() *Result {
	out := *r
	out.Seconds, out.Rows = 0, slices.Clone(r.Rows)
	for i := range out.Rows {
		out.Rows[i].Seconds, out.Rows[i].Figures = 0, typical.Figures{}
	}
	return &out
}

// Typical returns the figures of a typical record of every row, or nil if there are none.
func (r *Result) Typical() typical.Rows {
	return typical.Of(r.Rows, func(row Row) typical.Figures { return row.Figures })
}

// LedgerState is a shared ledger as a whole, after the run.
type LedgerState struct {
	Unit    string      `json:"unit"`
	Mode    ledger.Mode `json:"mode"`
	Budget  float64     `json:"budget"`
	Claim   float64     `json:"claim"`    // epsilon of everything released under it
	LeftRho float64     `json:"left_rho"` // of the largest Gaussian release that still fits
}

// Row is one plan. Accuracy is on the test rows, mean and standard deviation over
// seeds; Epsilon is absent where nothing was protected.
type Row struct {
	Model    string `json:"model"`
	Features string `json:"features"`
	// Settings of features that learn from private rows.
	Settings   string    `json:"feature_settings,omitempty"`
	Dimensions int       `json:"dimensions"` // columns of the features
	Parameters int       `json:"parameters"`
	Epsilon    *float64  `json:"epsilon,omitempty"` // certified upper bound
	EpsilonLow *float64  `json:"epsilon_lower,omitempty"`
	Releasable bool      `json:"releasable"`
	Accuracy   float64   `json:"accuracy"`
	SD         *float64  `json:"sd,omitempty"`   // absent for one seed
	Runs       []float64 `json:"runs,omitempty"` // accuracies of all runs, if there are several
	// Recall is the recall of each class on the test rows, a mean over runs; 0 for a class of no test rows.
	// Absent from results of earlier versions.
	Recall []float64 `json:"recall,omitempty"`
	// AUROC is, of two classes, the area under the receiver operating characteristic on the test rows, and
	// AUROCSD its standard deviation over seeds. Absent from results of earlier versions.
	AUROC   *float64 `json:"auroc,omitempty"`
	AUROCSD *float64 `json:"auroc_sd,omitempty"`
	// StandardError of Accuracy, for the number of test rows. 0 in results of earlier versions.
	StandardError float64 `json:"standard_error,omitempty"`
	Steps         int     `json:"steps"`
	Probability   float64 `json:"sampling_probability"`
	// Sampling is how batches are drawn; it is absent for Poisson sampling. EpochSteps is the number of steps
	// of an epoch, in schemes with epochs, and Bands the number of turns, and of steps over which noise is
	// correlated, if it is cyclic.
	Sampling     dpsgd.Scheme      `json:"sampling,omitempty"`
	EpochSteps   int               `json:"epoch_steps,omitempty"`
	Bands        int               `json:"bands,omitempty"`
	Noise        float64           `json:"noise_multiplier,omitempty"`
	ClipNorm     float64           `json:"clip_norm,omitempty"` // absent where nothing was clipped
	LearningRate float64           `json:"learning_rate"`
	Statistics   []json.RawMessage `json:"statistics"`        // charges before the training
	Seconds      float64           `json:"seconds,omitempty"` // of one seed, whole, rounded up
	// Account is what `pate account` reads to recompute Epsilon.
	Account         *accountant.Schedule `json:"account,omitempty"`
	Curve           []Point              `json:"curve,omitempty"` // accuracy as the budget is spent, first seed
	Name            string               `json:"name"`            // in file names
	typical.Figures                      // of the training alone
}

// Point is a stage of a training.
type Point struct {
	Step     int     `json:"step"`
	Epsilon  float64 `json:"epsilon,omitempty"` // absent without privacy
	Accuracy float64 `json:"accuracy"`
}
