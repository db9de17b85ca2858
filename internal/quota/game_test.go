package quota

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

const sigma, reach = 1.0, 11

var noiseOf = func() (p [2*reach + 1]float64) {
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	for i := range p {
		p[i] = math.Exp(noise.LogProb(int64(i - reach)))
	}
	return p
}()

// game is played by an adversary who chooses each question from some, after all noisy counts so far. The
// rows are those of neighbours. votes returns the votes at the last question of a series.
type game struct {
	one, two neighbours.Rows
	some     []Question
	length   int
	epsilon  float64
	votes    func(rows neighbours.Rows, series []Question) []int64
	known    map[string]float64
	moves    map[string][]int64
}

// value returns the largest hockey-stick divergence that a strategy reaches, exactly. The likelihood ratio
// of all answers so far is exp(loss / (2 sigma^2)): it is all that the best strategy has to remember.
func (g *game) value(series []byte, loss int) float64 {
	if len(series) == g.length {
		return max(0, math.Exp(float64(loss)/(2*sigma*sigma))-math.Exp(g.epsilon))
	}
	name := fmt.Sprint(series, loss)
	best, done := g.known[name]
	if !done {
		for q := range g.some {
			next := append(slices.Clone(series), byte(q))
			best = max(best, g.after(next, g.move(next), loss))
		}
		g.known[name] = best
	}
	return best
}

// after averages over the noise of the counts that differ.
func (g *game) after(series []byte, move []int64, loss int) (sum float64) {
	if len(move) == 0 {
		return g.value(series, loss)
	}
	d := int(move[0])
	for i, p := range noiseOf {
		sum += p * g.after(series, move[1:], loss+2*d*(i-reach)-d*d)
	}
	return sum
}

// move returns the differences of the votes at the last question that are not 0.
func (g *game) move(series []byte) []int64 {
	name := string(series)
	if move, done := g.moves[name]; done {
		return move
	}
	var asked []Question
	for _, q := range series {
		asked = append(asked, g.some[q])
	}
	one, two := g.votes(g.one, asked), g.votes(g.two, asked)
	move := []int64{}
	for class, n := range one {
		if n != two[class] {
			move = append(move, n-two[class])
		}
	}
	g.moves[name] = move
	return move
}

// worst returns the value of the game for both orders of the neighbours.
func (g *game) worst() float64 {
	value := 0.0
	for range 2 {
		g.known, g.moves = map[string]float64{}, map[string][]int64{}
		value = max(value, g.value(nil, 0))
		g.one, g.two = g.two, g.one
	}
	return value
}

// of returns the divergence of votes counts that are one higher.
func of(votes int, epsilon float64, loss int) (sum float64) {
	if votes == 0 {
		return max(0, math.Exp(float64(loss)/(2*sigma*sigma))-math.Exp(epsilon))
	}
	for i, p := range noiseOf {
		sum += p * of(votes-1, epsilon, loss+2*(i-reach)-1)
	}
	return sum
}

func last(counts []int64) []int64 { return counts[len(counts)-classes:] }

func castWith(votes int) func(neighbours.Rows, []Question) []int64 {
	return func(rows neighbours.Rows, series []Question) []int64 {
		return last(testkit.Must(Cast(context.Background(), rows, Config{Votes: votes, Classes: classes}, series)))
	}
}

func gone(rows neighbours.Rows, unit string) neighbours.Rows {
	less := neighbours.Rows{X: dense.New(0, rows.X.Cols), Classes: rows.Classes}
	for i, u := range rows.Units {
		if u != unit {
			less.X.Data = append(less.X.Data, dense.Row(rows.X, i)...)
			less.X.Rows++
			less.Y, less.Units = append(less.Y, rows.Y[i]), append(less.Units, u)
		}
	}
	return less
}

// mistakes are votes by wrong rules. Each lets a strategy exceed the claim in some world.
var mistakes = map[string]func(votes int) func(neighbours.Rows, []Question) []int64{
	"one vote too many": func(votes int) func(neighbours.Rows, []Question) []int64 { return castWith(votes + 1) },
	// A crash after the answer of the second question loses its count.
	"counted after the answer": func(votes int) func(neighbours.Rows, []Question) []int64 {
		return func(rows neighbours.Rows, series []Question) []int64 {
			if len(series) > 2 {
				series = slices.Delete(slices.Clone(series), 1, 2)
			}
			return castWith(votes)(rows, series)
		}
	},
	// The lead that is asked for is so large that all questions are declined.
	"only answers counted": func(votes int) func(neighbours.Rows, []Question) []int64 {
		return func(rows neighbours.Rows, series []Question) []int64 {
			return castWith(votes)(rows, series[len(series)-1:])
		}
	},
	// The radius is the distance of the second nearest private row.
	"radius of private rows": func(votes int) func(neighbours.Rows, []Question) []int64 {
		return func(rows neighbours.Rows, series []Question) []int64 {
			series = slices.Clone(series)
			for i, q := range series {
				var squared []float64
				for row := range rows.Y {
					squared = append(squared, distance(dense.Row(rows.X, row), q.Row))
				}
				slices.Sort(squared)
				series[i].Radius = 0
				if len(squared) > 1 {
					series[i].Radius = math.Sqrt(squared[1])
				}
			}
			return castWith(votes)(rows, series)
		}
	},
}

// Worlds of a few units with up to three rows on a line, each unit there or not. The adversary knows all
// rows, and the next question is the worst after the answers so far: no strategy exceeds k counts.
func TestAdaptiveGames(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	claim := map[[2]float64]float64{}
	exceeded := map[string]bool{}
	games, tight := 0, 0
	for seed := range uint64(60) {
		rows, some := world(2+rnd.IntN(4), 1, 3, seed)
		for i := range some {
			some[i].Radius *= 2
		}
		k, epsilon := 1+rnd.IntN(2), []float64{0.1, 1, 2}[rnd.IntN(3)]
		at := [2]float64{float64(k), epsilon}
		if _, done := claim[at]; !done {
			m := testkit.Must(New(Config{Votes: k, Sigma: sigma, Classes: classes}))
			account := testkit.Must(accountant.NewAuto(accountant.AutoConfig{Relation: accountant.AddRemove}))
			require.NoError(t, account.Compose(m.Event(), 1))
			claim[at] = testkit.Must(account.Delta(t.Context(), epsilon)).Upper
			require.LessOrEqual(t, of(k, epsilon, 0), claim[at])
		}
		for u := range 2 {
			g := game{one: rows, two: gone(rows, fmt.Sprint(u)), some: some, length: 2 + k, epsilon: epsilon, votes: castWith(k)}
			value, exact := g.worst(), of(k, epsilon, 0)
			require.LessOrEqual(t, value, exact*(1+1e-12), "seed %d, unit %d", seed, u)
			if games++; value > exact*(1-1e-12) {
				tight++
			}
			for name, mistake := range mistakes {
				if !exceeded[name] {
					g.votes = mistake(k)
					exceeded[name] = g.worst() > claim[at]*1.02
				}
			}
		}
	}
	t.Logf("%d games, %d of them as bad as k counts", games, tight)
	require.Greater(t, tight, games/3, "in most worlds a unit can be made to vote k times")
	for name := range mistakes {
		require.True(t, exceeded[name], "control: "+name)
	}
}

// Two neighbours give equal votes but for the unit between them, which moves one count at each of at most
// k questions. Votes of all other units are the same.
func TestAUnitMovesItsVotesAlone(t *testing.T) {
	for seed, c := range []struct{ units, cols, questions, most int }{{12, 1, 40, 2}, {60, 2, 130, 4}, {1500, 3, 70, 1}} {
		rows, asked := world(c.units, c.cols, c.questions, uint64(seed)+20)
		v := testkit.Must(newVoters(rows, Config{Votes: c.most, Classes: classes}))
		with := testkit.Must(v.vote(t.Context(), asked))
		most := int64(0)
		for u := range 6 {
			w := testkit.Must(newVoters(gone(rows, fmt.Sprint(u)), Config{Votes: c.most, Classes: classes}))
			without := testkit.Must(w.vote(t.Context(), asked))
			require.Equal(t, slices.Delete(slices.Clone(v.cast), u, u+1), w.cast)
			moved := int64(0)
			for q := range asked {
				at := int64(0)
				for class := range classes {
					d := with[q*classes+class] - without[q*classes+class]
					require.Contains(t, []int64{0, 1}, d)
					at += d
				}
				require.LessOrEqual(t, at, int64(1))
				moved += at
			}
			require.LessOrEqual(t, moved, int64(c.most))
			most = max(most, moved)
		}
		require.Equal(t, int64(c.most), most)
	}
}
