package stability

import (
	"context"
	"fmt"
	"reflect"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// SubsampleAggregate asks one question of any function on any data (Nissim, Raskhodnikova, Smith 2007; Smith,
// Thakurta 2013). The function f runs concurrently on the parts of the data that split makes. Each part votes
// for its answer. The session releases the most frequent answer if it is stable.
//
// One record changes at most Overlap votes. If v = floor((gap-1)/2) moved votes do not change the winner,
// whatever rule breaks ties, then floor(v/Overlap) records do not change it either. That is the distance
// tested, at least gap/(2 Overlap) - 1, the distance in the literature.
//
// The function f answers, or abstains with ok false, for example when its part is too small. It must depend
// on nothing private but its part, a slice that it may keep and change. If ctx is done, its error is
// returned; whether that happens must not depend on the data.
//
// Answers that are equal must look the same to everyone who sees them, because one part decides which of them
// leaves. Types with floats in them are refused, since a float has two zeros: answer with whole numbers of a
// unit instead.
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

// SubsampleMedian releases the median of what f answers on disjoint parts of the data, with noise for its
// smooth sensitivity (Nissim, Raskhodnikova, Smith 2007, section 4). One record changes one answer. Where f
// abstains, the answer counts as the lowest. The number of models must be odd. It fails, with nothing
// touched, unless r charges exactly m.Event(), for a relation that split holds for, and was not used before.
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

// evaluate runs f on every part.
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

// faithful reports whether values of a comparable type that are equal are the same.
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

// mode returns the most frequent answer, the first in order of models if several are, and how many votes it
// leads by, 0 without votes.
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
		votes[a] = 0 // counted
		if n > top {
			winner, top, second = a, n, top
		} else {
			second = max(second, n)
		}
	}
	return winner, top - second
}
