package poll

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/pate-go/pate/teachers/votes"
)

// SyntheticVotes returns a vote of each teacher on each query, made by a formula where they
// are counted. They are for measurements. docs/many-votes.py makes the same.
func SyntheticVotes(s beam.Scope, p Poll) beam.PCollection {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	s = s.Scope("SyntheticVotes")
	runs := beam.Reshuffle(s, beam.ParDo(s, &numberFn{N: (p.Queries-1)/syntheticRun + 1}, beam.Impulse(s)))
	return beam.ParDo(s, &syntheticFn{Poll: p}, runs)
}

// syntheticRun is how many queries one element stands for.
const syntheticRun = 10_000

type syntheticFn struct{ Poll Poll }

func (f *syntheticFn) ProcessElement(run int64, emit func(Vote)) {
	for q := run * syntheticRun; q < min(f.Poll.Queries, (run+1)*syntheticRun); q++ {
		for t := range f.Poll.Teachers {
			emit(Vote{Query: q, Teacher: int32(t), Class: f.Poll.synthetic(q, t)})
		}
	}
}

// synthetic returns an answer: the right one, the remainder of the query, of seven in ten.
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
