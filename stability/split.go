package stability

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// Split assigns records to models. It depends on a key and on public numbers or names only, never on what the
// records contain.
type Split struct {
	records int
	models  [][]int // record numbers, ascending
	overlap int     // the most models that one record is in
	// relation is the only one under which a neighbour moves no other record to another model; 0 for both.
	relation accountant.Relation
}

// Models returns the number of models.
func (s Split) Models() int { return len(s.models) }

// Overlap returns the largest number of models that one record is in, and so of answers that it can change.
func (s Split) Overlap() int { return s.overlap }

// Disjoint deals records at random to models, each to exactly one. Sizes differ by at most one. The number of
// records is public: neighbours differ in the content of one record (accountant.ReplaceOne). If records come
// and go, use [ByUnit].
func Disjoint(records, models int, key rng.Key) (Split, error) {
	return Repeated(records, models, 1, key)
}

// Repeated makes the given number of independent Disjoint splits side by side, with blocks
// models each. Every record is in exactly that many models.
func Repeated(records, blocks, repetitions int, key rng.Key) (Split, error) {
	if err := checkSplit(records, key); err != nil {
		return Split{}, err
	}
	if blocks < 1 || repetitions < 1 || blocks > records {
		return Split{}, fmt.Errorf("stability: %d records cannot be dealt to %d blocks %d times", records, blocks, repetitions)
	}
	s := Split{records: records, overlap: repetitions, relation: accountant.ReplaceOne}
	order := make([]int, records)
	for r := range repetitions {
		key.Derive("repeated split", uint64(blocks), uint64(r)).Stream().Perm(order)
		models := make([][]int, blocks)
		for record, place := range order {
			models[place%blocks] = append(models[place%blocks], record)
		}
		s.models = append(s.models, models...)
	}
	return s, nil
}

// ByUnit sends each record to one model by a keyed hash of the name of its unit, such as a user, whatever the
// other records are. It holds for units that come, go or change their records (accountant.AddRemove or
// ReplaceOne), and protects units. Under ReplaceOne the name of a unit is public and stays: a unit replaced
// by one of another name is two changes.
func ByUnit(units []string, models int, key rng.Key) (Split, error) {
	if err := checkSplit(len(units), key); err != nil {
		return Split{}, err
	}
	if models < 1 {
		return Split{}, fmt.Errorf("stability: %d is not a number of models", models)
	}
	key = key.Derive("split by unit", uint64(models))
	s := Split{records: len(units), overlap: 1, models: make([][]int, models)}
	for record, unit := range units {
		j := key.DeriveBytes("unit", []byte(unit)).Stream().Uint64N(uint64(models))
		s.models[j] = append(s.models[j], record)
	}
	return s, nil
}

func checkSplit(records int, key rng.Key) error {
	if records < 1 {
		return errors.New("stability: no records to split")
	}
	if key.IsZero() {
		return errors.New("stability: zero Key: make one with NewKey or SeedKey")
	}
	return nil
}
