package poll

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"

	"github.com/pate-go/pate/teachers/votes"
)

// Teacher trains one teacher on the teacher's partition of the private data. It returns a class or
// votes.Abstention for every query of the poll. A second worker may repeat the call, so equal arguments must
// give equal votes. The argument `settings`, for example a path, must not contain secret keys.
type Teacher func(ctx context.Context, settings string, teacher int) ([]int, error)

// CastVotes trains each teacher of the poll p as a separate element, and returns a collection of [Vote]. The
// caller must register teacher with beam.RegisterFunction before beam.Init, so that workers find the
// function.
func CastVotes(s beam.Scope, p Poll, teacher Teacher, settings string) beam.PCollection {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	s = s.Scope("CastVotes")
	numbers := spread(s, int64(p.Teachers))
	fn := beam.EncodedFunc{Fn: reflectx.MakeFunc((func(context.Context, string, int) ([]int, error))(teacher))}
	return beam.ParDo(s, &castFn{Poll: p, Teacher: fn, Settings: settings}, numbers)
}

type castFn struct {
	Poll     Poll
	Teacher  beam.EncodedFunc
	Settings string
}

func (f *castFn) ProcessElement(ctx context.Context, teacher int64, emit func(Vote)) error {
	returned := f.Teacher.Fn.Call([]any{ctx, f.Settings, int(teacher)})
	if err, _ := returned[1].(error); err != nil {
		return fmt.Errorf("poll: teacher %d: %w", teacher, err)
	}
	classes := returned[0].([]int)
	if int64(len(classes)) != f.Poll.Queries {
		return fmt.Errorf("poll: teacher %d has votes on %d queries, want %d", teacher, len(classes), f.Poll.Queries)
	}
	for q, class := range classes {
		emit(Vote{Query: int64(q), Teacher: int32(teacher), Class: int32(class)})
	}
	return nil
}

func spread(s beam.Scope, n int64) beam.PCollection {
	return beam.Reshuffle(s, beam.ParDo(s, &numberFn{N: n}, beam.Impulse(s)))
}

type numberFn struct{ N int64 }

func (f *numberFn) ProcessElement(_ []byte, emit func(int64)) {
	for i := range f.N {
		emit(i)
	}
}

// SyntheticVotes returns artificial votes for benchmarks, one for each teacher and query.
// docs/many-votes.py computes the same votes.
func SyntheticVotes(s beam.Scope, p Poll) beam.PCollection {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	s = s.Scope("SyntheticVotes")
	return beam.ParDo(s, &syntheticFn{Poll: p}, spread(s, (p.Queries-1)/syntheticRun+1))
}

const syntheticRun = 10_000

type syntheticFn struct{ Poll Poll }

func (f *syntheticFn) ProcessElement(run int64, emit func(Vote)) {
	for q := run * syntheticRun; q < min(f.Poll.Queries, (run+1)*syntheticRun); q++ {
		for t := range f.Poll.Teachers {
			emit(Vote{Query: q, Teacher: int32(t), Class: f.Poll.synthetic(q, t)})
		}
	}
}

func (p Poll) synthetic(query int64, teacher int) int32 {
	x := uint64(uint32((uint64(query)*uint64(p.Teachers)+uint64(teacher))*2654435761) >> 12)
	switch classes := uint64(p.Classes); {
	case x%1000 < 20:
		return votes.Abstention
	case x%1000 < 300:
		return int32(x / 1000 % classes)
	default:
		return int32(uint64(query) % classes)
	}
}
