package stability

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// Split says which records each model sees. It depends on a key and on public numbers or
// names only, never on what the records contain.
type Split struct {
	records int
	models  [][]int // record numbers, ascending
	overlap int     // the most models that one record is in
	// relation is the only relation under which a neighbour moves no other record to
	// another model. It is 0 if that holds for both relations.
	relation accountant.Relation
}

// Models returns the number of models.
func (s Split) Models() int { return len(s.models) }

// Overlap returns the largest number of models that any one record is in. One record can
// change that many answers.
func (s Split) Overlap() int { return s.overlap }

// Disjoint deals records at random to models, each to exactly one. Sizes differ by at most
// one. The number of records is public: neighbours differ in the content of one record
// (accountant.ReplaceOne). If records come and go, use [ByUnit].
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

// ByUnit sends each record to one model by a keyed hash of the name of its unit, such as a user. All records
// of a unit go together, and where they go does not depend on the other records. It holds for units that
// come, go or change their records (accountant.AddRemove or ReplaceOne), and protects units. Under
// ReplaceOne the name of a unit is public and stays: a unit replaced by one of another name is two changes.
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

// SampPlan holds the numbers of M_samp (Smith, Thakurta 2013). M_samp trains each model on
// a sample that every record enters independently with probability Gamma. It needs every
// record in at most Overlap = 2 Gamma Models of them, except with probability delta.
//
// Lecture notes print log(n/delta)/Gamma^2 models, by Hoeffding's inequality: 4.85 million
// for n = 60000, epsilon = 1, delta = 1e-6. For rare events Chernoff's inequality has
// log(n/delta)/((2 log 2 - 1) Gamma), 28403, and the binomial law itself 24758. Disjoint
// blocks of the same size as the samples need 443 and no test.
//
// The notes also charge the test, which looks at no data, and call Gamma q in one place. They drop a "-1"
// in the proof that answers get out: it asks for a distance of 1/(16 Gamma), but a gap of a quarter of
// the models has one less. The value epsilon/(32 log(1/delta) + 16 epsilon) repairs that proof, and gaps
// are nearer half of the models anyway.
type SampPlan struct {
	Records   int
	Gamma     float64 // epsilon/(32 log(1/delta))
	Models    int     // by Chernoff: what [Independent] uses
	Printed   int     // by Hoeffding, for comparison
	Scanned   int     // the least that the binomial law and a union over records allow
	Blocks    int     // disjoint blocks of the size of one sample, for comparison
	MaxNumber int     // the most models a record may be in, floor(2 Gamma Models)
}

// NewSampPlan computes the plan for the given number of records.
func NewSampPlan(records int, epsilon, delta float64) (SampPlan, error) {
	if records < 1 || !within(delta, 1e-300, 0.25) || !within(epsilon, 0x1p-10, 0x1p9) {
		return SampPlan{}, fmt.Errorf("stability: no plan for %d records, epsilon %g in [2^-10, 2^9], delta %g in (0, 1/4]", records, epsilon, delta)
	}
	gamma := epsilon / (32 * math.Log(1/delta))
	if gamma >= 0.5 {
		return SampPlan{}, fmt.Errorf("stability: epsilon %g is so large that samples would hold half of the records", epsilon)
	}
	l := math.Log(float64(records) / delta)
	p := SampPlan{
		Records: records, Gamma: gamma,
		Models:  int(math.Ceil(l / ((2*math.Ln2 - 1) * gamma))),
		Printed: int(math.Ceil(l / (gamma * gamma))),
		Blocks:  int(math.Ceil(1 / gamma)),
	}
	p.MaxNumber = int(2 * gamma * float64(p.Models))
	p.Scanned = p.scan(delta)
	return p, nil
}

// scan returns the least m with n P[Binomial(m, gamma) > 2 gamma m] <= delta. While k = floor(2 gamma m)
// stays the same, the tail grows with m. So only the least m of each k can be it.
func (p SampPlan) scan(delta float64) int {
	for k := 1.0; ; k++ {
		m := math.Ceil(k / (2 * p.Gamma))
		law := distuv.Binomial{N: m, P: p.Gamma}
		if int(m) >= p.Models || float64(p.Records)*law.Survival(k) <= delta {
			return min(int(m), p.Models)
		}
	}
}

// ErrOverlap is returned by Independent when some record is in too many samples.
var ErrOverlap = errors.New("stability: a record is in too many samples")

// Independent draws the samples of a plan. With probability at most delta it returns ErrOverlap. Then no
// data were looked at, and nothing was spent. It checks that the overlap is what it must be and does not
// assume it. The number of records is public (accountant.ReplaceOne).
func Independent(plan SampPlan, key rng.Key) (Split, error) {
	if err := checkSplit(plan.Records, key); err != nil {
		return Split{}, err
	}
	if plan.Models < 1 || !(plan.Gamma > 0 && plan.Gamma < 1) {
		return Split{}, errors.New("stability: not a plan: make one with NewSampPlan")
	}
	key = key.Derive("independent split", math.Float64bits(plan.Gamma))
	s := Split{records: plan.Records, models: make([][]int, plan.Models), relation: accountant.ReplaceOne}
	// Between two records of a sample a geometric number is left out.
	skips, err := rng.NewDiscreteLaplace(-1 / math.Log1p(-plan.Gamma))
	if err != nil {
		return Split{}, fmt.Errorf("stability: Gamma: %w", err)
	}
	in := make([]int, plan.Records)
	for j := range s.models {
		stream := key.Derive("sample", uint64(j)).Stream()
		for record := skips.Geometric(stream); record < int64(plan.Records); record += 1 + skips.Geometric(stream) {
			s.models[j] = append(s.models[j], int(record))
			in[record]++
			s.overlap = max(s.overlap, in[record])
		}
	}
	if s.overlap > plan.MaxNumber {
		return Split{}, ErrOverlap
	}
	s.overlap = plan.MaxNumber
	return s, nil
}
