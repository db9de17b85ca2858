package audit

// Trial tests a claim on one pair of neighbouring inputs. Earlier pairs of runs choose an event, and later
// pairs test it. Whenever the number of pairs has doubled, the event is chosen again.
type Trial[F comparable] struct {
	Claim Claim
	Alpha float64 // probability that a true claim is refuted
	Most  int     // expected number of pairs of runs
	Runs  [2][]Outcome[F]
	Event Event[F]
	Pairs Pairs // the tests
}

// Add adds the outcomes of a pair of runs.
func (t *Trial[F]) Add(first, second Outcome[F]) {
	t.Runs[0], t.Runs[1] = append(t.Runs[0], first), append(t.Runs[1], second)
}

// Learn chooses t.Event, a set of outcomes, from all pairs of runs so far.
func (t *Trial[F]) Learn() { t.Event = learn(t.Runs, t.Claim.Delta, t.Alpha, t.Most) }

// Test tests the claim with new pairs of runs. It calls more(n, bound), which should add about n pairs with
// [Trial.Add]. The lower bound on epsilon so far is `bound`. Test ends when a call of `more` fails or adds no
// pair.
func (t *Trial[F]) Test(more func(n int, bound float64) error) (Finding, error) {
	f := Finding{Claim: t.Claim, Alpha: t.Alpha}
	t.Learn()
	for learned := len(t.Runs[0]); ; {
		from := len(t.Runs[0])
		if from >= 2*learned {
			learned = from
			t.Learn()
		}
		err := more(max(4, t.Pairs.total()/8), f.Epsilon)
		f.Runs = len(t.Runs[0])
		if err != nil || f.Runs == from {
			return f, err
		}
		e := &t.Event
		on, beside := e.expected()
		var batch Pairs
		for i := from; i < f.Runs; i++ {
			batch.Add(e.contains(t.Runs, i))
		}
		t.Pairs.Bet(batch, on, beside, t.Claim.Delta)
		e.hits[0], e.hits[1], e.runs = e.hits[0]+batch.Both+batch.First, e.hits[1]+batch.Both+batch.Second, e.runs+batch.total()
		f.Epsilon = max(f.Epsilon, t.Pairs.LowerBound(t.Alpha))
	}
}
