package quota

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

func started(t *testing.T, cfg Config, rows neighbours.Rows, key rng.Key) *Session {
	cfg.Classes = classes
	m := testkit.Must(New(cfg))
	return testkit.Must(m.Start(testledger.Reserve(t, accountant.AddRemove, m.Event()), key, rows))
}

func TestRefusals(t *testing.T) {
	for _, cfg := range []Config{{}, {Votes: 1, Sigma: 1}, {Votes: MostVotes + 1, Sigma: 1, Classes: 2}, {Votes: 1, Classes: 2}, {Votes: 1, Sigma: 1, Classes: 2, Lead: -1}} {
		require.Error(t, testkit.Err(New(cfg)), cfg)
	}
	m := testkit.Must(New(Config{Votes: 2, Sigma: 3, Classes: classes}))
	require.Equal(t, accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: 3, Sensitivity: 1}, Count: 2}, m.Event())
	rows, asked := world(4, 2, 1, 1)
	key := rng.SeedKey(1)
	require.Error(t, testkit.Err(m.Start(testledger.Reserve(t, accountant.ReplaceOne, m.Event()), key, rows)))
	require.Error(t, testkit.Err(m.Start(testledger.Reserve(t, accountant.AddRemove, accountant.Gaussian{NoiseMultiplier: 9}), key, rows)))
	r := testledger.Reserve(t, accountant.AddRemove, m.Event())
	require.Error(t, testkit.Err(m.Start(r, rng.Key{}, rows)))
	other := rows
	other.Classes = 2
	require.Error(t, testkit.Err(m.Start(r, key, other)))
	s := testkit.Must(m.Start(r, key, rows))
	require.Error(t, testkit.Err(m.Start(r, key, rows)), "a second session of one charge")
	for _, q := range []Question{{Row: []float32{1}}, {Row: []float32{1, float32(math.NaN())}}, {Row: asked[0].Row, Radius: -1}, {Row: asked[0].Row, Radius: math.NaN()}} {
		require.Error(t, testkit.Err(s.Ask(t.Context(), []Question{asked[0], q})))
		require.Zero(t, s.asked)
		require.Equal(t, make([]uint16, 4), s.voters.cast, "a refused question costs no vote")
	}
	require.Error(t, testkit.Err(s.Ask(testkit.Ended(), asked)))
}

// The noise of each count has the law that is charged (chi-square; a false alarm has probability 1e-4, and
// the seed is fixed), and a question has the same noise again only at its own place, ID, row and radius.
func TestNoise(t *testing.T) {
	rows, _ := world(30, 2, 1, 3)
	const sigma, questions = 1.7, 20_000
	s := started(t, Config{Votes: 3, Sigma: sigma}, rows, rng.SeedKey(5))
	var asked []Question
	for q := range uint64(questions) {
		asked = append(asked, Question{q, []float32{1, float32(q%9) / 4}, 0.5})
	}
	votes := testkit.Must(Cast(t.Context(), rows, Config{Votes: 3, Classes: classes}, asked))
	const reach = 7
	law, noise := make([]float64, 2*reach+1), testkit.Must(rng.NewDiscreteGaussian(sigma))
	seen := make([]float64, len(law))
	for i := range law {
		law[i] = classes * questions * math.Exp(noise.LogProb(int64(i-reach)))
	}
	answers := testkit.Must(s.Ask(t.Context(), asked))
	for q, a := range answers {
		require.Equal(t, dense.Argmax(a.Counts), a.Label)
		for class, n := range a.Counts {
			if z := n - votes[q*classes+class]; z >= -reach && z <= reach {
				seen[z+reach]++
			}
		}
	}
	require.Greater(t, testkit.ChiSquare(seen, law), 1e-4)

	q := asked[0]
	same := func(place uint64, q Question) []uint64 { return q.ids(place) }
	for _, other := range [][]uint64{same(1, q), same(0, Question{1, q.Row, q.Radius}), same(0, Question{0, asked[1].Row, q.Radius}), same(0, Question{0, q.Row, 1})} {
		require.NotEqual(t, same(0, q), other)
	}
}

// A session that stops after any question and resumes from a journal gives the answers of one that did
// not.
func TestResume(t *testing.T) {
	rows, asked := world(80, 2, 90, 4)
	cfg, key := Config{Votes: 2, Sigma: 1, Lead: 2}, rng.SeedKey(9)
	whole := testkit.Must(started(t, cfg, rows, key).Ask(t.Context(), asked))
	declined := 0
	for _, a := range whole {
		if a.Label == aggregate.NoLabel {
			declined++
		}
	}
	require.NotZero(t, declined)
	for _, stop := range []int{0, 1, 63, 64, 65, 89} {
		s := started(t, cfg, rows, key)
		require.NoError(t, s.Resume(t.Context(), asked[:stop/2]))
		require.NoError(t, s.Resume(t.Context(), asked[stop/2:stop]))
		require.Equal(t, whole[stop:], testkit.Must(s.Ask(t.Context(), asked[stop:])))
	}
	// A unit that is gone after the restart has no effect on votes of others.
	s, less := started(t, cfg, rows, key), started(t, cfg, gone(rows, "7"), key)
	require.NoError(t, s.Resume(t.Context(), asked[:40]))
	require.NoError(t, less.Resume(t.Context(), asked[:40]))
	require.Equal(t, append(s.voters.cast[:7:7], s.voters.cast[8:]...), less.voters.cast)
}

func TestRecords(t *testing.T) {
	rows, asked := world(20, 3, 3, 6)
	for _, q := range asked {
		require.Equal(t, q, testkit.Must(ParseQuestion(q.Append(nil))))
	}
	require.Error(t, testkit.Err(ParseQuestion(make([]byte, 17))))
	require.Error(t, testkit.Err(ParseQuestion(nil)))

	key := rng.SeedKey(1)
	all := testkit.Must(Units(key, rows))
	require.Len(t, all, 20*unitSize)
	require.NotEqual(t, all, testkit.Must(Units(rng.SeedKey(2), rows)))
	less := testkit.Must(Units(key, gone(gone(rows, "3"), "11")))
	require.NoError(t, CheckUnits(all, all))
	require.NoError(t, CheckUnits(all, less), "units may go")
	require.NoError(t, CheckUnits(all, nil))
	require.ErrorIs(t, CheckUnits(less, all), ErrUnits, "none may come")
	for name, change := range map[string]func(r *neighbours.Rows){
		"a feature": func(r *neighbours.Rows) { r.X.Data[7] += 0.25 },
		"a class":   func(r *neighbours.Rows) { r.Y[4] = (r.Y[4] + 1) % classes },
		"a name":    func(r *neighbours.Rows) { r.Units[0] = "other" },
		"a row":     func(r *neighbours.Rows) { r.Units[2] = r.Units[5] },
	} {
		other, _ := world(20, 3, 3, 6)
		change(&other)
		require.ErrorIs(t, CheckUnits(all, testkit.Must(Units(key, other))), ErrUnits, name)
	}
}

// A million questions have the event of one unit's votes, and no question stays in memory.
func TestManyQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("a million questions")
	}
	rows, asked := world(40, 2, 64, 5)
	s := started(t, Config{Votes: 4, Sigma: 5}, rows, rng.SeedKey(1))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := uint64(0)
	for batch := range 1_000_000 / len(asked) {
		if batch == 100 {
			before = heap()
		}
		testkit.Must(s.Ask(t.Context(), asked))
	}
	require.EqualValues(t, 1_000_000, s.asked)
	require.Less(t, heap(), before+1<<16)
	for _, votes := range s.voters.cast {
		require.LessOrEqual(t, votes, uint16(4))
	}
}
