package stability

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// SubsampleAggregate answers one query by any function of the data (Nissim, Raskhodnikova, Smith 2007; Smith,
// Thakurta 2013). The data are divided into parts by split. The function f runs concurrently on the parts,
// and its answer on a part is one vote. The session releases the most frequent answer if it is stable.
//
// Let the gap be the lead of the winner in votes, and v = floor((gap-1)/2). Under any tie rule, v moved votes
// do not change the winner. Let Overlap be the largest number of parts with the same record (see
// [Split.Overlap]). One record changes at most Overlap votes. So the session tests the distance
// floor(v/Overlap). The literature uses gap/(2 Overlap) - 1, which is never larger.
//
// The function f returns an answer, or false to abstain. The only private data that f may use is the slice
// `part`. The function f may keep this slice and assign to its elements. If ctx ends, SubsampleAggregate
// returns the error of ctx. The data must not influence ctx.
//
// SubsampleAggregate fails if T contains a float or an interface. The floats 0 and -0 are equal but have
// different bits. One record could change the released bits. Instead of a float, use an integer multiple of a
// unit.
func SubsampleAggregate[D any, T comparable](ctx context.Context, session *Session[T], question uint64, data []D, split Split,
	f func(ctx context.Context, part []D) (answer T, ok bool)) (Answer[T], error) {
	if split.relation != 0 && split.relation != session.relation {
		return Answer[T]{}, fmt.Errorf("stability: %w: the split holds for relation %v only, and the ledger's is %v",
			ledger.ErrUnfit, split.relation, session.relation)
	}
	if answer := reflect.TypeFor[T](); !faithful(answer) {
		return Answer[T]{}, fmt.Errorf(
			"stability: answers of type %v may be equal and yet differ: answer with integers, strings or structs of them", answer)
	}
	answers, ok, err := evaluate(ctx, data, split, f)
	if err != nil {
		return Answer[T]{}, err
	}
	winner, lead := mode(answers, ok)
	moves := max(0, (lead-1)/2)
	return session.Ask(question, winner, int64(moves/split.overlap))
}

// SubsampleMedian releases the median of the values of f on disjoint parts of the data. The noise is for
// smooth sensitivity (Nissim, Raskhodnikova, Smith 2007, section 4). One record changes one value. If f
// abstains, its value is SmoothMedianConfig.Low. The number of parts must be odd. The reservation r must be
// unused, and must charge exactly m.Event(). Its relation must be valid for split. Otherwise SubsampleMedian
// fails before it calls f.
func SubsampleMedian[D any](ctx context.Context, m *SmoothMedian, r *ledger.Reservation, key rng.Key, data []D, split Split,
	f func(ctx context.Context, part []D) (answer float64, ok bool)) (float64, error) {
	if split.overlap != 1 || split.Models()%2 == 0 {
		return 0, fmt.Errorf("stability: a median needs an odd number of disjoint parts, not %d that share records %d-fold",
			split.Models(), split.overlap)
	}
	key, err := begin(m.Event(), ledger.Use{Relation: split.relation}, r, key)
	if err != nil {
		return 0, err
	}
	answers, ok, err := evaluate(ctx, data, split, f)
	if err != nil {
		return 0, err
	}
	for j := range answers {
		if !ok[j] {
			answers[j] = m.cfg.Low
		}
	}
	return m.release(key, answers)
}

func evaluate[D, T any](ctx context.Context, data []D, split Split, f func(context.Context, []D) (T, bool)) (answers []T, ok []bool, err error) {
	if split.models == nil || len(data) != split.records {
		return nil, nil, fmt.Errorf("stability: a split of %d records is not one of %d", split.records, len(data))
	}
	answers, ok = make([]T, len(split.models)), make([]bool, len(split.models))
	parallel.Each(0, len(answers), func(_, j int) {
		if ctx.Err() != nil {
			return
		}
		part := make([]D, len(split.models[j]))
		for i, record := range split.models[j] {
			part[i] = data[record]
		}
		answers[j], ok[j] = f(ctx, part)
	})
	return answers, ok, ctx.Err()
}

// faithful reports whether equal values of type t always have the same bits.
func faithful(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return false
	case reflect.Array:
		return faithful(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !faithful(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

func mode[T comparable](answers []T, ok []bool) (winner T, lead int) {
	votes := make(map[T]int)
	for j, a := range answers {
		if ok[j] {
			votes[a]++
		}
	}
	top, second := 0, 0
	for j, a := range answers {
		n := votes[a]
		if !ok[j] || n == 0 {
			continue
		}
		votes[a] = 0 // already counted
		if n > top {
			winner, top, second = a, n, top
		} else {
			second = max(second, n)
		}
	}
	return winner, top - second
}

// Split assigns records to models. It depends only on a key and public values, not on the contents of
// records.
type Split struct {
	records int
	models  [][]int // record indices of each model, ascending
	overlap int     // largest number of models that share a record
	// relation is the only relation for which overlap is valid, or 0 for any relation.
	relation accountant.Relation
}

func (s Split) Models() int { return len(s.models) }

// Overlap returns the largest number of models that one record is in.
func (s Split) Overlap() int { return s.overlap }

// Disjoint assigns each record to exactly one model at random. Sizes of models differ by at most one. The
// split treats the number of records as public, so it is valid only under accountant.ReplaceOne. For
// add/remove use [ByUnit].
func Disjoint(records, models int, key rng.Key) (Split, error) {
	return Repeated(records, models, 1, key)
}

// Repeated returns a split with repetitions*blocks models. Each repetition is an independent [Disjoint]
// split, so a record is in one model per repetition.
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

// ByUnit assigns each record to a model by a keyed hash of its unit's name. The guarantee is for units,
// because one model gets all records of a unit. The split is valid under accountant.AddRemove and ReplaceOne.
// Under ReplaceOne the names are public and must not change. A record that changes its unit counts as two
// changes.
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
