package tokens

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

// world is one mechanism on one input and all neighbours of the input, with log-laws.
type world struct {
	event accountant.Event
	here  []float64
	there [][]float64
}

// excess returns by how much a pair exceeds the event's bounds: Rényi divergences on the answers that both
// inputs can give, and the probability of the other answers.
func (w world) excess(t *testing.T) (most float64) {
	for _, order := range []float64{1.5, 2, 8, 30, math.Inf(1)} {
		bound, failure, err := accountant.Divergence(accountant.AddRemove, order, w.event)
		require.NoError(t, err)
		for _, q := range w.there {
			for _, pair := range [][2][]float64{{w.here, q}, {q, w.here}} {
				got, alone := divergence(pair[0], pair[1], order)
				most = max(most, got-bound*(1+1e-9), alone-failure*(1+1e-9))
			}
		}
	}
	return most
}

func divergence(p, q []float64, order float64) (loss, alone float64) {
	var terms []float64
	for i := range p {
		switch {
		case math.IsInf(p[i], -1):
		case math.IsInf(q[i], -1):
			alone += math.Exp(p[i])
		case math.IsInf(order, 1):
			terms = append(terms, p[i]-q[i])
		default:
			terms = append(terms, order*p[i]+(1-order)*q[i])
		}
	}
	top, sum := slices.Max(append(terms, -1e9)), 0.0
	if math.IsInf(order, 1) {
		return top, alone
	}
	for _, x := range terms {
		sum += math.Exp(x - top)
	}
	return (top + math.Log(sum)) / (order - 1), alone
}

func softmax(scores []float64) []float64 {
	top, sum := slices.Max(scores), 0.0
	for _, s := range scores {
		sum += math.Exp(s - top)
	}
	log := make([]float64, len(scores))
	for i, s := range scores {
		log[i] = s - top - math.Log(sum)
	}
	return log
}

func sparse(votes []int) Counts {
	c := Counts{Size: len(votes)}
	for token, n := range votes {
		if n > 0 {
			c.Tokens, c.Votes = append(c.Tokens, token), append(c.Votes, int64(n))
		}
	}
	return c
}

// changed returns all histograms that differ by one vote: moved, added or removed.
func changed(votes []int, moves bool) (all [][]int) {
	for from := -1; from < len(votes); from++ {
		for to := -1; to < len(votes); to++ {
			if from == to || from >= 0 && votes[from] == 0 || !moves && from >= 0 && to >= 0 {
				continue
			}
			other := slices.Clone(votes)
			if from >= 0 {
				other[from]--
			}
			if to >= 0 {
				other[to]++
			}
			all = append(all, other)
		}
	}
	return all
}

func cast(r *rand.Rand, teachers, tokens int) []int {
	votes := make([]int, tokens)
	for range teachers {
		votes[min(r.IntN(tokens), r.IntN(tokens))]++
	}
	return votes
}

// limitedLaw returns log probabilities of all tokens, then of declining.
func limitedLaw(cfg LimitedConfig, c Counts) []float64 {
	law := slices.Repeat([]float64{math.Inf(-1)}, c.Size+1)
	ranked, scores := c.first(nil, cfg.Domain+1), []float64{}
	for _, r := range ranked {
		scores = append(scores, float64(r.votes)/cfg.Scale)
	}
	scores[cfg.Domain] += float64(cfg.Margin) / cfg.Scale
	for i, l := range softmax(scores) {
		if i == cfg.Domain {
			law[c.Size] = l
		} else {
			law[ranked[i].token] = l
		}
	}
	return law
}

func limitedWorld(r *rand.Rand) world {
	size := 3 + r.IntN(4)
	cfg := LimitedConfig{Scale: 0.4 + 3*r.Float64(), Domain: 1 + r.IntN(size-1), Queries: 1, Appears: r.IntN(2) == 0}
	cfg.Margin = cfg.moved() + 1 + r.Int64N(6)
	votes := cast(r, r.IntN(7), size)
	w := world{event: testkit.Must(NewLimited(cfg)).Event(), here: limitedLaw(cfg, sparse(votes))}
	for _, other := range changed(votes, !cfg.Appears) {
		w.there = append(w.there, limitedLaw(cfg, sparse(other)))
	}
	return w
}

func argmaxWorld(r *rand.Rand) world {
	votes := cast(r, 1+r.IntN(5), 2+r.IntN(3))
	var m Mechanism
	var exact interface {
		Law(aggregate.Histogram) (aggregate.Law, error)
	}
	if r.IntN(2) == 0 {
		g := testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 0.4 + 2*r.Float64(), Queries: 1}))
		m, exact = g, g.dense
	} else {
		c := testkit.Must(NewConfident(aggregate.ConfidentGNMaxConfig{
			Threshold: 5 * r.Float64(), Sigma1: 0.4 + 2*r.Float64(), Sigma2: 0.4 + 2*r.Float64(), Queries: 1, Answers: 1}))
		m, exact = c, c.dense
	}
	w := world{event: m.Event(), here: lawOf(exact, sparse(votes))}
	for _, other := range changed(votes, true) {
		w.there = append(w.there, lawOf(exact, sparse(other)))
	}
	return w
}

func clippedLaw(scale float64, base []int64, contributions [][]int64) []float64 {
	scores := make([]float64, len(base))
	for t, b := range base {
		for _, c := range contributions {
			b += c[t]
		}
		scores[t] = float64(b) / scale
	}
	return softmax(scores)
}

// vectors returns all contributions to n tokens.
func vectors(n int, steps int64) (all [][]int64) {
	if n == 0 {
		return [][]int64{nil}
	}
	for _, rest := range vectors(n-1, steps) {
		for x := -steps; x <= steps; x++ {
			all = append(all, append(slices.Clone(rest), x))
		}
	}
	return all
}

func clippedWorld(r *rand.Rand) world {
	n, steps := 2+r.IntN(2), 1+r.Int64N(3)
	cfg := ClippedConfig{Clip: 1, Steps: steps, Teachers: 1 + r.Int64N(4), Temperature: 0.2 + 2*r.Float64(), Queries: 1, Appears: r.IntN(2) == 0}
	m := testkit.Must(NewClipped(cfg))
	all, base := vectors(n, steps), make([]int64, n)
	for t := range base {
		base[t] = r.Int64N(20) - 10
	}
	contributions := make([][]int64, cfg.Teachers)
	for i := range contributions {
		contributions[i] = all[r.IntN(len(all))]
	}
	w := world{event: m.Event(), here: clippedLaw(m.distances.Scale(), base, contributions)}
	w.there = append(w.there, clippedLaw(m.distances.Scale(), base, contributions[1:]))
	for _, v := range all {
		if !cfg.Appears {
			w.there = append(w.there, clippedLaw(m.distances.Scale(), base, append([][]int64{v}, contributions[1:]...)))
		}
	}
	return w
}

// transcripts returns the log-law of all transcripts of one epoch, with the tokens after refusals.
func transcripts(cfg ScreenConfig, exact *aggregate.GNMax, questions [][]int) (law []float64) {
	var values []float64
	var tokens [][]float64
	for _, votes := range questions {
		values = append(values, -float64(sparse(votes).distance(0)))
		tokens = append(tokens, testkit.Must(exact.Law(dense(sparse(votes)))).LogLabels)
	}
	noise := func(scale float64) svt.Noise { return svt.Noise{Kind: svt.Geometric, Scale: scale} }
	sparseVector := svt.Law{Threshold: -float64(cfg.Threshold), ThresholdNoise: noise(cfg.B1), QueryNoise: noise(cfg.B2), Stop: int(cfg.Failures)}
	for _, o := range testkit.Must(sparseVector.Outcomes(values)) {
		logs := []float64{math.Log(o.Prob)}
		for q, above := range o.Above {
			if !above {
				continue
			}
			var longer []float64
			for _, l := range logs {
				for _, token := range tokens[q] {
					longer = append(longer, l+token)
				}
			}
			logs = longer
		}
		law = append(law, logs...)
	}
	return law
}

func screenWorld(r *rand.Rand) world {
	cfg := ScreenConfig{B1: 0.7 + 2*r.Float64(), B2: 0.7 + 3*r.Float64(), Threshold: r.Int64N(4), Failures: 1 + r.Int64N(2), Epochs: 1}
	voting := testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 0.6 + r.Float64(), Queries: int(cfg.Failures)}))
	questions := make([][]int, 2+r.IntN(2))
	for q := range questions {
		questions[q] = cast(r, 1+r.IntN(6), 2)
	}
	w := world{event: testkit.Must(NewScreen(cfg, voting)).Event(), here: transcripts(cfg, voting.dense, questions)}
	others := [][][]int{nil} // the vote of one teacher changes at every question
	for _, votes := range questions {
		var longer [][][]int
		for _, other := range others {
			for _, to := range changed(votes, true) {
				longer = append(longer, append(slices.Clone(other), to))
			}
		}
		others = longer
	}
	for _, other := range others {
		w.there = append(w.there, transcripts(cfg, voting.dense, other))
	}
	return w
}

// TestSmallWorlds: the laws on all neighbours of random small worlds stay within the charged event.
func TestSmallWorlds(t *testing.T) {
	for name, make := range map[string]func(*rand.Rand) world{
		"argmax": argmaxWorld, "limited": limitedWorld, "clipped": clippedWorld, "screen": screenWorld,
	} {
		t.Run(name, func(t *testing.T) {
			r, tightest := rand.New(rng.SeedKey(9).Derive(name).Stream()), math.Inf(1)
			for i := range some(10_000) {
				w := make(r)
				require.LessOrEqual(t, w.excess(t), 1e-9, "%d %+v", i, w.event)
				if bound, _, _ := accountant.Divergence(accountant.AddRemove, math.Inf(1), w.event); !math.IsInf(bound, 1) {
					for _, q := range w.there {
						loss, _ := divergence(w.here, q, math.Inf(1))
						tightest = min(tightest, bound-loss)
					}
				}
			}
			if name == "clipped" || name == "limited" { // the charge is attained up to the other answers
				require.Less(t, tightest, 0.05)
			}
		})
	}
}

// TestSmallWorldControls: charges that are too small, and mistakes in a draw, are caught in small worlds.
func TestSmallWorldControls(t *testing.T) {
	limited := func(cfg LimitedConfig, event func(accountant.Event) accountant.Event, law func(LimitedConfig, Counts) []float64) func() world {
		return func() world {
			votes := []int{3, 2, 1}
			w := world{event: event(testkit.Must(NewLimited(cfg)).Event()), here: law(cfg, sparse(votes))}
			for _, other := range changed(votes, true) {
				w.there = append(w.there, law(cfg, sparse(other)))
			}
			return w
		}
	}
	same := func(e accountant.Event) accountant.Event { return e }
	narrow := LimitedConfig{Scale: 1, Domain: 2, Margin: 5, Queries: 1}
	appears := narrow
	appears.Appears = true
	onlySeen := func(counts ...int) []float64 { // noise for tokens with votes alone
		law := slices.Repeat([]float64{math.Inf(-1)}, len(counts))
		var votes []int
		for _, n := range counts {
			if n > 0 {
				votes = append(votes, n)
			}
		}
		if len(votes) == 1 {
			votes = append(votes, -100)
		}
		low := slices.Min(votes)
		for i := range votes {
			votes[i] -= min(low, 0)
		}
		exact := testkit.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 1, Queries: 1}))
		seen := testkit.Must(exact.Law(testkit.Must(aggregate.NewHistogram(votes)))).LogLabels
		for i, n := range counts {
			if n > 0 {
				law[i], seen = seen[0], seen[1:]
			}
		}
		return law
	}
	for name, make := range map[string]func() world{
		"declined for nothing": limited(narrow, func(e accountant.Event) accountant.Event {
			return e.(accountant.Repeated).Event.(accountant.WithFailure).Event // no failure probability
		}, limitedLaw),
		"a moved vote charged as one that appears": limited(appears, same, limitedLaw),
		"next count without margin": limited(narrow, same, func(cfg LimitedConfig, c Counts) []float64 {
			cfg.Margin = 0
			return limitedLaw(cfg, c)
		}),
		"private list": func() world { // tokens with positive private scores, by the exponential mechanism
			law := func(scores ...float64) []float64 {
				for i, s := range scores {
					if s <= 0 {
						scores[i] = math.Inf(-1)
					}
				}
				return softmax(scores)
			}
			return world{event: accountant.ExponentialMechanism{Epsilon: 4}, here: law(1, 1, 0), there: [][]float64{law(1, 0, 0)}}
		},
		"noise on seen tokens": func() world {
			return world{event: accountant.GNMax{Sigma: 1, Discrete: true}, here: onlySeen(3, 1, 0), there: [][]float64{onlySeen(3, 0, 1), onlySeen(4, 0, 0)}}
		},
		"a refusal charged once": func() world {
			cfg := ScreenConfig{B1: 3, B2: 1, Threshold: 1, Failures: 4, Epochs: 1}
			exact := testkit.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 50, Queries: 2}))
			four := func(votes ...int) []float64 { return transcripts(cfg, exact, [][]int{votes, votes, votes, votes}) }
			return world{event: accountant.PureDP{Epsilon: 1/cfg.B1 + 2/cfg.B2}, here: four(9, 1), there: [][]float64{four(8, 2)}}
		},
	} {
		t.Run(name, func(t *testing.T) { require.Greater(t, make().excess(t), 1e-3) })
	}
}

// TestLimitedTheorem: the margin of Durfee, Rogers 2019 for users with one vote, 1 + log(1/delta)/epsilon,
// has the failure probability delta, and no answer more is alone than delta.
func TestLimitedTheorem(t *testing.T) {
	for _, epsilon := range []float64{0.2, 0.5, 1, 2} {
		for _, delta := range []float64{0.1, 1e-3, 1e-8} {
			cfg := LimitedConfig{Scale: 1 / epsilon, Domain: 2, Queries: 1, Appears: true}
			cfg.Margin = cfg.MarginFor(delta)
			require.InDelta(t, 1+math.Log(1/delta)/epsilon, float64(cfg.Margin), 1)
			require.LessOrEqual(t, cfg.failure(), delta)
			cfg.Margin--
			require.Greater(t, cfg.failure(), delta, fmt.Sprint(epsilon, delta))
		}
	}
}

// TestRefusals: invalid parameters and inputs are errors.
func TestRefusals(t *testing.T) {
	gnmax := testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 1, Queries: 6}))
	limited, clipped := LimitedConfig{Scale: 1, Domain: 3, Margin: 4, Queries: 2}, ClippedConfig{Clip: 1, Steps: 2, Teachers: 2, Temperature: 1, Queries: 2}
	screen := ScreenConfig{B1: 1, B2: 1, Failures: 3, Epochs: 2}
	votes := Counts{9, []int{2, 7}, []int64{3, 40}}
	ask := func(m Mechanism, in Input) error {
		return testkit.Err(m.Start(rng.SeedKey(1)).Answer(State{}, 1, in))
	}
	exact := testkit.Must(NewScreen(screen, gnmax))
	for name, err := range map[string]error{
		"sigma":         testkit.Err(NewGNMax(aggregate.GNMaxConfig{Sigma: 4097, Queries: 1})),
		"queries":       testkit.Err(NewGNMax(aggregate.GNMaxConfig{Sigma: 1})),
		"sigma2":        testkit.Err(NewConfident(aggregate.ConfidentGNMaxConfig{Sigma1: 1, Sigma2: 1e5, Queries: 1, Answers: 1})),
		"answers":       testkit.Err(NewConfident(aggregate.ConfidentGNMaxConfig{Sigma1: 1, Sigma2: 1, Queries: 1, Answers: 2})),
		"domain":        testkit.Err(NewLimited(LimitedConfig{Scale: 1, Margin: 4, Queries: 1})),
		"margin":        testkit.Err(NewLimited(LimitedConfig{Scale: 1, Domain: 1, Margin: 2, Queries: 1})),
		"scale":         testkit.Err(NewLimited(LimitedConfig{Domain: 1, Margin: 4, Queries: 1})),
		"caps":          testkit.Err(NewScreen(ScreenConfig{B1: 1, B2: 1, Failures: 3, Epochs: 3}, gnmax)),
		"b1":            testkit.Err(NewScreen(ScreenConfig{B2: 1, Failures: 3, Epochs: 2}, gnmax)),
		"clip":          testkit.Err(NewClipped(ClippedConfig{Steps: 2, Teachers: 2, Temperature: 1, Queries: 2})),
		"temperature":   testkit.Err(NewClipped(ClippedConfig{Clip: 1, Steps: 2, Teachers: 2, Queries: 2})),
		"size":          ask(gnmax, Input{Counts: Counts{Size: 1}}),
		"order":         ask(gnmax, Input{Counts: Counts{9, []int{2, 2}, []int64{1, 1}}}),
		"outside":       ask(gnmax, Input{Counts: Counts{9, []int{9}, []int64{1}}}),
		"lists":         ask(gnmax, Input{Counts: Counts{9, []int{2}, nil}}),
		"negative":      ask(gnmax, Input{Counts: Counts{9, []int{2}, []int64{-1}}}),
		"small":         ask(testkit.Must(NewLimited(limited)), Input{Counts: Counts{Size: 3}}),
		"public":        ask(exact, Input{Counts: votes, Public: 9}),
		"no list":       ask(testkit.Must(NewClipped(clipped)), Input{}),
		"score":         ask(testkit.Must(NewClipped(clipped)), Input{List: []int{1}, Scores: []int64{5}}),
		"unequal lists": ask(testkit.Must(NewClipped(clipped)), Input{List: []int{1}, Scores: []int64{1, 2}}),
	} {
		require.Error(t, err, name)
	}
	for _, c := range []struct {
		m         Mechanism
		over, not State
	}{
		{gnmax, State{Voted: 6}, State{Voted: 5, Public: 9}},
		{testkit.Must(NewLimited(limited)), State{Voted: 1, Declined: 1}, State{Declined: 1}},
		{testkit.Must(NewClipped(clipped)), State{Voted: 2}, State{Voted: 1}},
		{exact, State{Voted: 6, Public: 70}, State{Voted: 5, Public: 1e9}},
		{testkit.Must(NewConfident(aggregate.ConfidentGNMaxConfig{Sigma1: 1, Sigma2: 1, Queries: 4, Answers: 2})), State{Voted: 2}, State{Voted: 1, Declined: 2}},
		{testkit.Must(NewConfident(aggregate.ConfidentGNMaxConfig{Sigma1: 1, Sigma2: 1, Queries: 4, Answers: 2})), State{Voted: 1, Declined: 3}, State{}},
	} {
		in := Input{Counts: votes, Public: None, List: []int{4}, Scores: []int64{1}}
		session := c.m.Start(rng.SeedKey(1))
		require.ErrorIs(t, testkit.Err(session.Answer(c.over, 1, in)), ErrExhausted)
		c.over.Voted++ // more than the caps, which is not Unlimited
		require.ErrorIs(t, testkit.Err(session.Answer(c.over, 1, in)), ErrExhausted)
		require.NoError(t, testkit.Err(session.Answer(c.not, 1, in)))
	}
}
