package label

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate/plan"
)

// identity is what a run is a function of. As JSON it is the name of the run in
// the ledger. Everything in it is public.
type identity struct {
	Label       int     `json:"label"` // version of this form
	Pool        string  `json:"pool"`
	Queries     [2]int  `json:"queries"` // from <= q < to
	Mechanism   string  `json:"mechanism"`
	Threshold   float64 `json:"threshold,omitempty"`
	Sigma1      float64 `json:"sigma1,omitempty"`
	Sigma       float64 `json:"sigma,omitempty"`
	Scale       float64 `json:"scale,omitempty"`
	B1          float64 `json:"b1,omitempty"` // of the noise of a threshold, beside Scale
	Answers     int     `json:"answers,omitempty"`
	Failures    int     `json:"failures,omitempty"`
	Confidence  float64 `json:"confidence,omitempty"`
	Teachers    int     `json:"teachers,omitempty"`
	Classes     int     `json:"classes"`
	Votes       string  `json:"votes"`                 // their hash, under the secret of the ledger
	Predictions string  `json:"predictions,omitempty"` // their hash
	Seeded      bool    `json:"seeded,omitempty"`
	Key         string  `json:"key"` // public name of the run's key
}

const identityVersion = 1

func (id identity) encode() (string, error) {
	text, err := json.Marshal(id)
	if err != nil {
		return "", fmt.Errorf("label: %w", err)
	}
	return string(text), nil
}

// parseIdentity reads the name of a run; ok is false for runs of other programs.
func parseIdentity(name string) (id identity, ok bool, err error) {
	if !strings.HasPrefix(name, `{"label":`) {
		return id, false, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(name)))
	d.DisallowUnknownFields()
	if err = d.Decode(&id); err == nil && id.Label != identityVersion {
		err = fmt.Errorf("form %d", id.Label)
	}
	if err != nil {
		return id, false, fmt.Errorf("label: the ledger holds a run of labels that this version cannot read: %w", err)
	}
	return id, true, nil
}

// tag names everything but the key.
func (id identity) tag() string {
	id.Key = ""
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", id))
	return hex.EncodeToString(sum[:6])
}

// take sets the mechanism of the run.
func (id *identity) take(s Setting) {
	id.Mechanism, id.Threshold, id.Sigma1, id.Sigma, id.Scale = s.Mechanism, s.Threshold, s.Sigma1, s.Sigma, s.Scale
	id.Answers, id.Confidence, id.Teachers = s.Answers, s.Confidence, s.Teachers
	id.B1, id.Failures = s.ThresholdScale, s.Failures
}

// setting is the mechanism of the run.
func (id identity) setting() Setting {
	return Setting{
		Setting: plan.Setting{
			Mechanism: id.Mechanism, Threshold: id.Threshold, Sigma1: id.Sigma1, Sigma: id.Sigma, Scale: id.Scale,
			Queries: id.Queries[1] - id.Queries[0], Answers: id.Answers,
		},
		Confidence: id.Confidence, Teachers: id.Teachers,
		ThresholdScale: id.B1, Failures: id.Failures,
	}
}

// shares says whether the runs have a query in common.
func (id identity) shares(other identity) bool {
	return (id.Pool == other.Pool || id.Votes == other.Votes) &&
		id.Queries[0] < other.Queries[1] && other.Queries[0] < id.Queries[1]
}

// differences says in what a run that is asked for is not the recorded one.
// Noise that is not given agrees with any.
func (id identity) differences(asked identity) []string {
	var out []string
	differ := func(name string, recorded, asked any) {
		if recorded != asked {
			out = append(out, fmt.Sprintf("%s %v, not %v", name, recorded, asked))
		}
	}
	number := func(name string, recorded, asked float64) {
		if asked != 0 {
			differ(name, recorded, asked)
		}
	}
	if id.Votes != asked.Votes {
		out = append(out, "other votes")
	}
	differ("pool", id.Pool, asked.Pool)
	differ("queries", fmt.Sprintf("%d:%d", id.Queries[0], id.Queries[1]), fmt.Sprintf("%d:%d", asked.Queries[0], asked.Queries[1]))
	differ("mechanism", id.Mechanism, asked.Mechanism)
	if id.Mechanism == asked.Mechanism {
		if id.setting().Stable() { // chosen with the noise, and m-stab has one of two
			number("threshold", id.Threshold, asked.Threshold)
			differ("failures", id.Failures, asked.Failures)
			number("b1", id.B1, asked.B1)
		} else {
			differ("threshold", id.Threshold, asked.Threshold)
		}
		number("sigma1", id.Sigma1, asked.Sigma1)
		number(id.setting().sigmaName(), id.Sigma, asked.Sigma)
		number("scale", id.Scale, asked.Scale)
		differ("answers", id.Answers, asked.Answers)
		differ("confidence", id.Confidence, asked.Confidence)
	}
	if id.Predictions != asked.Predictions {
		out = append(out, "other predictions")
	}
	if id.Seeded != asked.Seeded {
		word := map[bool]string{true: "a seed", false: "a secret key"}
		differ("noise from", word[id.Seeded], word[asked.Seeded])
	}
	if id.Seeded && asked.Seeded && id.Key != asked.Key {
		out = append(out, "another seed")
	}
	return out
}
