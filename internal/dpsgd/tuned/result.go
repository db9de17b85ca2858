package tuned

import (
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/tune"
)

// Schema names the JSON form of a Result.
const Schema = "pate.tune/1"

// Result is what a search released, beside the file of the model. Its JSON form is a contract of the
// command line. Nothing in it tells of a run that was not chosen, of how many there were,
// or how long they took.
type Result struct {
	Schema     string  `json:"schema"`
	Data       string  `json:"data"`
	Provenance string  `json:"provenance,omitempty"`
	Split      string  `json:"split"`
	Private    int     `json:"private"` // records, those that choose included, one a unit; or what was declared
	Test       int     `json:"test"`    // public rows that score what was chosen
	Settings   int     `json:"settings"`
	Law        LawJSON `json:"law"`
	// Score says on which rows settings were compared.
	Score    ScoreJSON `json:"score"`
	Epsilon  float64   `json:"epsilon"` // of everything together
	Delta    float64   `json:"delta"`
	Relation string    `json:"relation"`
	Unit     string    `json:"unit"`
	// Noise is the noise multiplier of every run, OneNoise that of a single model at the same
	// epsilon, and OneEpsilon what one model with Noise would cost.
	Noise      float64 `json:"noise_multiplier"`
	OneNoise   float64 `json:"untuned_noise_multiplier"`
	OneEpsilon float64 `json:"untuned_epsilon"`
	// Chosen is the best run; absent where the law drew none.
	Chosen     *Chosen `json:"chosen,omitempty"`
	Releasable bool    `json:"releasable"`
	// Withheld says why nothing may leave though it was charged, as [dataset.Task.Withheld].
	Withheld string `json:"withheld,omitempty"`
	Seeded   bool   `json:"seeded"`
	// Account is what `pate account` reads to recompute Epsilon.
	Account accountant.Schedule `json:"account"`
}

// LawJSON is the law of the number of runs.
type LawJSON struct {
	Name     string  `json:"name"`
	Expected float64 `json:"expected_runs"`
	Eta      float64 `json:"eta,omitempty"`
	Gamma    float64 `json:"gamma,omitempty"`
	Mean     float64 `json:"mean,omitempty"`
}

// ScoreJSON says what chose.
type ScoreJSON struct {
	On    string  `json:"on"` // "public" or "private"
	Rows  int     `json:"rows,omitempty"`
	Share float64 `json:"share,omitempty"` // of private units
	Sigma float64 `json:"sigma,omitempty"` // of the noise on the number of right answers
}

// Chosen is the run that was released.
type Chosen struct {
	Setting
	Index int `json:"index"` // of the setting, from 1
	// Score is the accuracy on the public rows that chose, or the noisy number of right
	// answers on private ones. It flatters, as the best of several.
	Score float64 `json:"score"`
	// Accuracy is on test rows, which chose nothing.
	Accuracy      float64 `json:"accuracy"`
	StandardError float64 `json:"standard_error"`
	Steps         int     `json:"steps"`
	Probability   float64 `json:"sampling_probability"`
}

// newResult returns all of a result but what was chosen.
func (j *job) newResult(p tune.Price) (*Result, error) {
	run, err := j.event(p.Noise)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Schema: Schema, Data: j.Task.Name, Provenance: j.Task.Provenance, Split: string(j.Task.Protocol),
		Private: j.private(), Test: j.Task.Test.Len(), Settings: len(j.Settings),
		Law:     LawJSON{Name: j.Law.String(), Expected: j.Law.Expected(), Eta: j.Law.Eta, Gamma: j.Law.Gamma, Mean: j.Law.Mean},
		Score:   ScoreJSON{On: "public", Rows: j.choose.Len()},
		Epsilon: p.Epsilon, Delta: j.Delta, Relation: relation.String(), Unit: j.Unit,
		Noise: p.Noise, OneNoise: p.OneNoise, OneEpsilon: p.OneEpsilon,
		Releasable: j.releasable(), Withheld: j.Task.Withheld(), Seeded: !j.Key.Releasable(),
		Account: accountant.Schedule{Relation: relation, Events: []accountant.Event{j.Law.Event(run)}},
	}
	if j.Private != nil { // how many rows chose is private
		r.Score = ScoreJSON{On: "private", Share: j.Private.Share, Sigma: j.Private.Sigma}
	}
	return r, nil
}

// releasable reports whether the model may leave.
func (j *job) releasable() bool { return j.Key.Releasable() && j.Task.Withheld() == "" }

// private returns the number of private units, as it may be said.
func (j *job) private() int {
	if j.Records > 0 {
		return j.Records
	}
	return j.Task.Private.UnitCount()
}

// chosen returns the run that was released; its setting is written out in full.
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
