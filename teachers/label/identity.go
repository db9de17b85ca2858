package label

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/run"
)

const kind = "label"

// identity is everything public that a run is a function of, as the ledger has it.
type identity struct {
	Pool        string             `json:"pool"`
	Queries     [2]int             `json:"queries"` // from <= q < to
	Mechanism   string             `json:"mechanism"`
	Parameters  map[string]float64 `json:"parameters,omitempty"`
	Teachers    int                `json:"teachers,omitempty"`
	Classes     int                `json:"classes"`
	Predictions string             `json:"predictions,omitempty"` // their hash
}

// identity returns the run as far as it is given.
func (c Config) identity(predictions string) (identity, error) {
	s, err := c.setting()
	if err != nil {
		return identity{}, err
	}
	from, to := c.Votes.Range()
	id := identity{Pool: c.Pool, Queries: [2]int{from, to}, Classes: c.Votes.Classes(), Predictions: predictions}
	id.take(s)
	return id, nil
}

func (id *identity) take(s setting) {
	id.Mechanism, id.Parameters, id.Teachers = s.s.Mechanism, s.s.Values, s.s.Teachers
}

// setting returns the mechanism of the run, whose name has been found before.
func (id identity) setting() setting {
	d, err := mechanisms.Find(id.Mechanism)
	if err != nil {
		panic(err)
	}
	return setting{d, aggregate.Setting{Mechanism: id.Mechanism, Values: id.Parameters, Teachers: id.Teachers,
		Queries: id.Queries[1] - id.Queries[0]}}
}

// Describe returns the labels that a run in a ledger released in words, and "" for a run without labels or
// one that this version cannot read.
func Describe(name string) string {
	var id identity
	if is, settings := run.Kind(name); is != kind || json.Unmarshal(settings, &id) != nil {
		return ""
	}
	return fmt.Sprintf("labels of queries %d:%d of %s", id.Queries[0], id.Queries[1], id.Pool)
}

// recorded is a run of labels that a ledger has charged.
type recorded struct {
	*run.Recorded
	id identity
}

func recordedRuns(before *run.Before) ([]recorded, error) {
	var runs []recorded
	for i := range before.Recorded {
		r := recorded{Recorded: &before.Recorded[i]}
		err := r.Read(&r.id)
		if err == nil {
			_, err = mechanisms.Find(r.id.Mechanism)
		}
		if err != nil {
			return nil, fmt.Errorf("label: %w", err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// at returns the run that answered a query of a pool, nil if there is none.
func at(runs []recorded, pool string, query int) *recorded {
	for i, r := range runs {
		if r.id.Pool == pool && r.id.Queries[0] <= query && query < r.id.Queries[1] {
			return &runs[i]
		}
	}
	return nil
}

// find returns the recorded run that is asked for, nil if it is new, and refuses a run that shares a query.
func find(runs []recorded, asked identity, votes []byte) (*recorded, error) {
	for i, r := range runs {
		same, err := r.Of(votes)
		if err != nil {
			return nil, err
		}
		if !(r.id.Pool == asked.Pool || same) || r.id.Queries[0] >= asked.Queries[1] || asked.Queries[0] >= r.id.Queries[1] {
			continue
		}
		var differ []string
		if !same {
			differ = append(differ, "other votes")
		}
		if differ = append(append(differ, r.id.differences(asked)...), r.Differs...); differ == nil {
			return &runs[i], nil
		}
		state := "was started"
		if r.Committed {
			state = "is complete"
		}
		return nil, run.OtherRun(fmt.Sprintf("queries %d:%d of pool %q were put to another run, which %s",
			r.id.Queries[0], r.id.Queries[1], r.id.Pool, state),
			differ, "an answered query is never answered again with fresh noise", "repeat that run as it was, or choose queries that were not asked")
	}
	return nil, nil
}

// differences lists how a run differs from the recorded one. Chosen values that were not given agree.
func (id identity) differences(asked identity) []string {
	var out []string
	differ := func(name string, recorded, asked any) {
		if recorded != asked {
			out = append(out, fmt.Sprintf("%s %v, not %v", name, recorded, asked))
		}
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
	return out
}

// isLedger reports whether a path is a ledger or one of the files beside it.
func isLedger(path, ledger string) bool {
	rest, ok := strings.CutPrefix(path, ledger)
	return ok && (rest == "" || ledger+rest == run.IDFile(ledger) || ledger+rest == run.HeadFile(ledger))
}
