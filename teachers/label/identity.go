package label

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// identity holds what a run is a function of. As JSON it is the name of the run in
// the ledger. Everything in it is public.
type identity struct {
	Label       int                `json:"label"` // version of this form
	Pool        string             `json:"pool"`
	Queries     [2]int             `json:"queries"` // from <= q < to
	Mechanism   string             `json:"mechanism"`
	Parameters  map[string]float64 `json:"parameters,omitempty"`
	Teachers    int                `json:"teachers,omitempty"`
	Classes     int                `json:"classes"`
	Votes       string             `json:"votes"`                 // their hash, under the secret of the ledger
	Predictions string             `json:"predictions,omitempty"` // their hash
	Seeded      bool               `json:"seeded,omitempty"`
	Key         string             `json:"key"` // public name of the run's key
}

const identityVersion = 2

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
	if err = strictly(name, &id); err == nil && id.Label != identityVersion {
		err = fmt.Errorf("form %d", id.Label)
	}
	if err == nil {
		_, err = mechanisms.Find(id.Mechanism)
	}
	if err != nil {
		return id, false, fmt.Errorf("label: the ledger holds a run of labels that this version cannot read: %w", err)
	}
	return id, true, nil
}

// Describe says in words which labels a run in a ledger released, and "" of a run that is none
// of labels or that this version cannot read.
func Describe(run string) string {
	id, ok, err := parseIdentity(run)
	if !ok || err != nil {
		return ""
	}
	return fmt.Sprintf("labels of queries %d:%d of %s", id.Queries[0], id.Queries[1], id.Pool)
}

// strictly reads JSON without unknown fields.
func strictly(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// tag names everything but the key.
func (id identity) tag() string {
	id.Key = ""
	return tagOf(fmt.Appendf(nil, "%+v", id)) // maps are printed in the order of their keys
}

func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// take sets the mechanism of the run.
func (id *identity) take(s setting) {
	id.Mechanism, id.Parameters, id.Teachers = s.s.Mechanism, s.s.Values, s.s.Teachers
}

// setting returns the mechanism of the run, whose name has been found before.
func (id identity) setting() setting {
	d, err := mechanisms.Find(id.Mechanism)
	if err != nil {
		panic(err)
	}
	return setting{d, aggregate.Setting{Mechanism: id.Mechanism, Values: id.Parameters, Teachers: id.Teachers, Queries: id.Queries[1] - id.Queries[0]}}
}

// shares reports whether the runs have a query in common.
func (id identity) shares(other identity) bool {
	return (id.Pool == other.Pool || id.Votes == other.Votes) &&
		id.Queries[0] < other.Queries[1] && other.Queries[0] < id.Queries[1]
}

// differences says in what a run that is asked for is not the recorded one. What is
// chosen and was not given agrees with any.
func (id identity) differences(asked identity) []string {
	var out []string
	differ := func(name string, recorded, asked any) {
		if recorded != asked {
			out = append(out, fmt.Sprintf("%s %v, not %v", name, recorded, asked))
		}
	}
	if id.Votes != asked.Votes {
		out = append(out, "other votes")
	}
	differ("pool", id.Pool, asked.Pool)
	differ("queries", fmt.Sprintf("%d:%d", id.Queries[0], id.Queries[1]), fmt.Sprintf("%d:%d", asked.Queries[0], asked.Queries[1]))
	differ("mechanism", id.Mechanism, asked.Mechanism)
	if id.Mechanism == asked.Mechanism {
		for _, p := range id.setting().d.Parameters {
			if want, given := asked.Parameters[p.Name]; given || !p.Chosen() {
				differ(p.Name, id.Parameters[p.Name], want)
			}
		}
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
