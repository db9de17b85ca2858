package tuned

import (
	"cmp"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/tune"
)

// Schema identifies the JSON form of a [Result].
const Schema = "pate.tune/1"

// Result is the release of a search, besides the model file. The JSON form stays compatible. Result does not
// depend on running times. It omits the drawn number of trainings and all outcomes but the best.
type Result struct {
	Schema     string    `json:"schema"`
	Data       string    `json:"data"`
	Provenance string    `json:"provenance,omitempty"`
	Split      string    `json:"split"`
	Private    int       `json:"private"` // number of units, including those that choose, or the declared number
	Test       int       `json:"test"`    // public rows that score the chosen model
	Settings   int       `json:"settings"`
	Law        LawJSON   `json:"law"`
	Score      ScoreJSON `json:"score"`
	Epsilon    float64   `json:"epsilon"` // of the whole search
	Delta      float64   `json:"delta"`
	Relation   string    `json:"relation"`
	Unit       string    `json:"unit"`
	Noise      float64   `json:"noise_multiplier"`         // of every training
	OneNoise   float64   `json:"untuned_noise_multiplier"` // noise multiplier at which one training costs Epsilon
	OneEpsilon float64   `json:"untuned_epsilon"`          // cost of one training with noise multiplier Noise
	Chosen     *Chosen   `json:"chosen,omitempty"`         // best run; absent if the drawn number of runs is 0
	Releasable bool      `json:"releasable"`
	// Withheld is the reason why nothing may be released, or "" (see [dataset.Task.Withheld]).
	Withheld string              `json:"withheld,omitempty"`
	Seeded   bool                `json:"seeded"`
	Account  accountant.Schedule `json:"account"` // input from which `pate account` recomputes Epsilon
}

// LawJSON describes the distribution of the number of trainings.
type LawJSON struct {
	Name     string  `json:"name"`
	Expected float64 `json:"expected_runs"`
	Eta      float64 `json:"eta,omitempty"`
	Gamma    float64 `json:"gamma,omitempty"`
	Mean     float64 `json:"mean,omitempty"`
}

// ScoreJSON describes the rows on which settings are scored.
type ScoreJSON struct {
	On    string  `json:"on"` // "public" or "private"
	Rows  int     `json:"rows,omitempty"`
	Share float64 `json:"share,omitempty"` // fraction of the private units
	Sigma float64 `json:"sigma,omitempty"` // of the noise on the number of correct predictions
}

// Chosen describes the chosen training.
type Chosen struct {
	Setting
	Index int `json:"index"` // index of the setting, from 1
	// On public rows, Score is the accuracy. On private rows, Score is the noisy number of correct
	// predictions. The largest of several scores is too optimistic.
	Score         float64 `json:"score"`
	Accuracy      float64 `json:"accuracy"` // on test rows, which did not influence the choice
	StandardError float64 `json:"standard_error"`
	Steps         int     `json:"steps"`
	Probability   float64 `json:"sampling_probability"`
}

func (j *job) newResult(p tune.Price) (*Result, error) {
	run, err := j.event(p.Noise)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Schema: Schema, Data: j.Task.Name, Provenance: j.Task.Provenance, Split: string(j.Task.Protocol),
		Private: cmp.Or(j.Records, j.Task.Private.UnitCount()), Test: j.Task.Test.Len(), Settings: len(j.Settings),
		Law:     LawJSON{Name: j.Law.String(), Expected: j.Law.Expected(), Eta: j.Law.Eta, Gamma: j.Law.Gamma, Mean: j.Law.Mean},
		Score:   ScoreJSON{On: "public", Rows: j.choose.Len()},
		Epsilon: p.Epsilon, Delta: j.Delta, Relation: relation.String(), Unit: j.Unit,
		Noise: p.Noise, OneNoise: p.OneNoise, OneEpsilon: p.OneEpsilon,
		Releasable: j.releasable(), Withheld: j.Task.Withheld(), Seeded: !j.Key.Releasable(),
		Account: accountant.Schedule{Relation: relation, Events: []accountant.Event{j.Law.Event(run)}},
	}
	if j.Private != nil { // the number of rows that chose is private
		r.Score = ScoreJSON{On: "private", Share: j.Private.Share, Sigma: j.Private.Sigma}
	}
	return r, nil
}

func (j *job) releasable() bool { return j.Key.Releasable() && j.Task.Withheld() == "" }

func (j *job) chosen(best tune.Best, accuracy float64) *Chosen {
	t := j.plans[best.Setting].Recipe
	s := Setting{
		Features: t.Features, Model: t.Model, Optimizer: j.Settings[best.Setting].Optimizer,
		LearningRate: &t.Train.LearningRate, Clip: &t.Train.ClipNorm, Momentum: &t.Train.Optimizer.Momentum,
		WeightDecay: &t.Train.Optimizer.WeightDecay, EMA: &t.Train.AverageDecay,
	}
	return &Chosen{
		Setting: s, Index: best.Setting + 1, Score: best.Score, Accuracy: accuracy,
		StandardError: scores.StandardError(accuracy, j.Task.Test.Len()),
		Steps:         t.Train.TotalSteps(), Probability: t.Train.SamplingProbability,
	}
}
