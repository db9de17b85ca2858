package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/internal/testkit"
)

var long = flag.Bool("long", false, "the ends of knobs of chapters that train models, too")

func TestChapters(t *testing.T) {
	for _, c := range Chapters() {
		t.Run(c.Name, func(t *testing.T) {
			for _, part := range []string{"Title", "Chapter", "Claim", "Look", "Wrong", "Right"} {
				require.NotEmpty(t, c.Text[part], part)
			}
			for _, s := range c.Scenes {
				v := well(t, c, s.Situation)
				require.Equal(t, strings.Contains(s.Name, "refuted"), !v.Verdict.Holds, s.Name)
				require.NotContains(t, strings.Join(v.Says, " "), "above the dashed curve", "%s: the attack opens below its curve", s.Name)
			}
			for _, k := range c.Knobs {
				switch {
				case c.Needs != "" && !*long: // trains models for every picture
				case k.Kind == Range:
					well(t, c, Situation{k.ID: short(k.Min)})
					well(t, c, Situation{k.ID: short(k.Max)})
				case k.Kind == Pick:
					require.Equal(t, k.Default, k.Choices[0].Value, "the page takes the first")
					for _, choice := range k.Choices {
						well(t, c, Situation{k.ID: choice.Value})
					}
				}
			}
			require.NotEmpty(t, testkit.Must(c.Trace(nil)).Steps)
			for _, s := range c.Scenes {
				require.NoError(t, testkit.Err(c.Trace(s.Situation)), s.Name)
			}
		})
	}
}

func found(t *testing.T, chapter string) Chapter {
	return testkit.Must(Find(chapter))
}

func TestChapterFile(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(chapterFile))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&[]Chapter{}))
	most := func(chapter, knob string) float64 {
		knobs := found(t, chapter).Knobs
		return knobs[slices.IndexFunc(knobs, func(k Knob) bool { return k.ID == knob })].Max
	}
	require.EqualValues(t, pateQuestions, most("pate", "asked"))
	require.EqualValues(t, subsampleRecords-1, most("subsample-aggregate", "record"))
}

// TestNoMechanismIsForgotten: every mechanism of the register whose law is a function of votes alone is a choice of
// the page, and its pictures hold; the page has no other mechanism than those and the broken ones.
func TestNoMechanismIsForgotten(t *testing.T) {
	c := found(t, "noisy-argmax")
	offered := map[string]bool{}
	for _, choice := range c.Knobs[0].Choices {
		offered[choice.Value] = !strings.HasPrefix(choice.Label, "broken: ")
	}
	for _, d := range mechanisms.All() {
		require.Equal(t, !d.Predicts && !d.Distances, offered[d.Name], d.Name)
		if offered[d.Name] {
			v := well(t, c, Situation{"mechanism": d.Name})
			require.True(t, v.Verdict.Holds, d.Name)
			require.Contains(t, v.Command, "pate learn law ", d.Name)
		}
		delete(offered, d.Name)
	}
	for name, sound := range offered {
		require.False(t, sound, "%s is in no register", name)
	}
}

func well(t *testing.T, c Chapter, s Situation) View {
	v, err := c.Draw(s)
	require.NoError(t, err, "%v", s)
	require.NotEmpty(t, v.Panels)
	require.NotEmpty(t, v.Says, "%v", s)
	require.NotEmpty(t, v.Verdict.Words, "%v", s)
	for _, p := range v.Panels {
		require.NotEmpty(t, p.Alt, "%s %v", p.ID, s)
		require.NotContains(t, p.SVG, "NaN", "%s %v", p.ID, s)
		testkit.WellFormed(t, []byte(p.SVG), "%s: %s", p.ID, p.SVG)
	}
	require.NoError(t, testkit.Err(json.Marshal(v)))
	return v
}

func TestExercises(t *testing.T) {
	for _, c := range Chapters() {
		require.NotEmpty(t, c.Exercises, c.Name)
		for _, e := range c.Exercises {
			require.NotEmpty(t, e.Question, e.Name)
			require.NotEmpty(t, e.Solution, e.Name)
			answer, err := e.Answer()
			require.NoError(t, err, e.Name)
			right, _ := testkit.Must2(c.Check(e.Name, answer))
			require.True(t, right)
			for _, wrong := range []float64{answer*1.5 + 1, answer*0.5 - 1} {
				right, words := testkit.Must2(c.Check(e.Name, wrong))
				require.False(t, right)
				require.Equal(t, map[bool]string{true: "Less than that.", false: "More than that."}[wrong > answer], words)
			}
		}
	}
	require.Error(t, testkit.Err2(found(t, "noisy-argmax").Check("nothing", 1)))
}

func TestSituationsThatAreWrong(t *testing.T) {
	for _, s := range []Situation{
		{"noise": "NaN"}, {"noise": "-1"}, {"noise": "1e9"}, {"noise": ""}, {"mechanism": "none"}, {"nothing": "1"},
		{"votes": "1"}, {"votes": "0,0"}, {"votes": "1,x"}, {"votes": "400,400"}, {"votes": "1.5,2"}, {"votes": "-1,2"}, {"votes": "1,2,3,4,5,6,7,8,9,10,11"},
		{"move": "1"}, {"move": "a>b"}, {"move": "-1>0"}, {"answers": "1.5"},
	} {
		require.ErrorIs(t, testkit.Err(found(t, "noisy-argmax").Draw(s)), ErrSituation, "%v", s)
	}
	require.Contains(t, string(Call([]byte("{"))), `"error"`)
	require.Contains(t, string(Call([]byte(`{"ask":"sing","chapter":"noisy-argmax"}`))), "cannot")
}

func FuzzCall(f *testing.F) {
	f.Add([]byte(`{"ask":"draw","chapter":"noisy-argmax","situation":{"votes":"60,40,3","move":"0>1"}}`))
	f.Add([]byte(`{"ask":"check","chapter":"noisy-argmax","exercise":"right","given":1e999}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		require.True(t, json.Valid(Call(request)), "%s", request)
	})
}

func votesAndMove(t *rapid.T) (counts, after []int) {
	n := rapid.IntRange(2, 6).Draw(t, "classes")
	counts = rapid.SliceOfN(rapid.IntRange(0, 80), n, n).Draw(t, "votes")
	counts[rapid.IntRange(0, n-1).Draw(t, "largest")] += rapid.IntRange(1, 80).Draw(t, "lead")
	from := rapid.IntRange(0, n-1).Filter(func(i int) bool { return counts[i] > 0 }).Draw(t, "from")
	to := rapid.IntRange(0, n-1).Filter(func(i int) bool { return i != from }).Draw(t, "to")
	after = slices.Clone(counts)
	after[from]--
	after[to]++
	return counts, after
}

func TestOneMovedVoteNeverBreaksAClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts, after := votesAndMove(t)
		name := rapid.SampledFrom(onVotes()).Draw(t, "mechanism").Name
		p := argmaxOf(name, rapid.Float64Range(1, 40).Draw(t, "noise"), float64(rapid.IntRange(0, 200).Draw(t, "threshold"))).pairOf(counts, after)
		require.False(t, p.breaks(), "%s: spent %v of %v", name, p.spent(), p.epsilon)
		require.True(t, p.withCounts(counts, after).breaks(), "the counts too")
		epsilon := rapid.Float64Range(0.1, 3).Draw(t, "epsilon")
		p = stabilityPair("shipped", stabilityTest(epsilon), epsilon, counts, after)
		require.False(t, p.breaks(), "stability: spent %v of %v", p.spent(), p.epsilon)
	})
}

func TestBrokenVariantsAreBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"one-count", "half-charge", "no-noise"}).Draw(t, "mechanism")
		noise := rapid.Float64Range(2, 30).Draw(t, "noise")
		a := argmaxOf(name, noise, 0)
		for lead := range min(500, int(16*noise)+5) {
			counts := []int{lead + (500-lead)/2, (500 - lead) / 2}
			if a.pairOf(counts, []int{counts[0] - 1, counts[1] + 1}).breaks() {
				return
			}
		}
		require.Fail(t, "no votes refute it", "%s %v", name, noise)
	})
	for _, variant := range []string{"no-noise", "lead"} {
		for _, epsilon := range []float64{0.3, 1, 2} {
			m, broken := stabilityTest(epsilon), false
			for lead := 0; lead < 200 && !broken; lead++ {
				broken = stabilityPair(variant, m, epsilon, []int{100 + lead, 100, 0}, []int{99 + lead, 101, 0}).breaks()
			}
			require.True(t, broken, "%s %v", variant, epsilon)
		}
	}
}

// TestTradeoffIsAboveTheClaim: the best test between two laws misses no less than the charge allows, at its
// corners and so everywhere.
func TestTradeoffIsAboveTheClaim(t *testing.T) {
	for _, d := range onVotes() {
		a := argmaxOf(d.Name, 4, 12)
		p := a.pairOf([]int{20, 12, 3}, []int{19, 13, 3})
		allowed := a.allowed(p)
		wrong, missed := p.tradeoff()
		for i := range wrong {
			require.GreaterOrEqual(t, missed[i], allowed(wrong[i])-1e-9, d.Name)
		}
		require.InDelta(t, 1, wrong[len(wrong)-1], 1e-9)
	}
}

func TestSpentIsTheHockeyStick(t *testing.T) {
	p := pair{here: []float64{math.Log(0.5), math.Log(0.3), math.Log(0.2)}, there: []float64{math.Log(0.2), math.Log(0.3), math.Log(0.5)}, delta: 0.1}
	low, high := 0.0, 3.0
	for range 60 {
		mid := (low + high) / 2
		if 0.5-math.Exp(mid)*0.2 > 0.1 {
			low = mid
		} else {
			high = mid
		}
	}
	require.InDelta(t, high, p.spent(), 1e-12)
	p.delta = 0
	require.InDelta(t, math.Log(2.5), p.spent(), 1e-12)
}

func TestAttacks(t *testing.T) {
	for variant, a := range learn.BrokenVariants(2) {
		for i := range a.Here {
			require.LessOrEqual(t, math.Abs(a.Here[i]-a.There[i]), 1.0, variant)
		}
		worst := refute(a)
		require.Greater(t, worst.loss, a.Claimed, "%s: %v against %v", variant, worst.p, worst.q)
	}
}

func TestAttackAgainstItsBound(t *testing.T) {
	most := func(wrong float64) float64 { return min(1, math.E*wrong) } // ε = 1
	for _, c := range []struct {
		wrong, found []float64
		says         string
	}{
		{[]float64{0, 0.2, 1}, []float64{0, 0.5, 1}, "stays below"},
		{[]float64{0, 0.2, 1}, []float64{0, 0.6, 1}, "stays below"},
		{[]float64{0, 0, 1}, []float64{0, 0.05, 1}, "stays below"},
		{[]float64{0, 0.05, 1}, []float64{0, 0.9, 1}, "Even this lower bound"},
	} {
		require.Contains(t, against(c.wrong, c.found, most, 0.1), c.says, "%v", c)
	}
}
