package poll

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// Teacher trains one teacher, on the share of the private data that is its own, and returns
// its class for each query of the poll, votes.Abstention where it has none. It runs on a
// worker, and again if that is lost: the same settings and teacher must give the same votes,
// as those of teachers.TrainPart do. Settings are what the pipeline was given, such as the
// paths from which a worker reads; they travel with the pipeline, so that keys do not belong
// there.
type Teacher func(ctx context.Context, settings string, teacher int) ([]int, error)

// CastVotes trains all teachers of a poll, each as an element of its own, and returns their
// votes, a collection of [Vote]. The function must be registered with beam.RegisterFunction,
// before beam.Init, so that workers know it.
func CastVotes(s beam.Scope, p Poll, teacher Teacher, settings string) beam.PCollection {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	s = s.Scope("CastVotes")
	// Without a shuffle the engine would train all teachers on one worker.
	numbers := beam.Reshuffle(s, beam.ParDo(s, &numberFn{N: int64(p.Teachers)}, beam.Impulse(s)))
	fn := beam.EncodedFunc{Fn: reflectx.MakeFunc((func(context.Context, string, int) ([]int, error))(teacher))}
	return beam.ParDo(s, &castFn{Poll: p, Teacher: fn, Settings: settings}, numbers)
}

// castFn trains one teacher.
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

// numberFn makes the numbers from 0 to N-1.
type numberFn struct{ N int64 }

func (f *numberFn) ProcessElement(_ []byte, emit func(int64)) {
	for i := range f.N {
		emit(i)
	}
}
