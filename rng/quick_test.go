package rng

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wideSigmas have more than one integer to a cell: few and many, and cells at both ends of their width.
var wideSigmas = []float64{256, 300, 511.875, 1000, 1234.5, 1e8 / 3, 1 << 28, 1<<29 - 1, 1e9, maxScale}

// misplaced counts the closed slots that are not proven to lie in the one cell that the
// guide names. It uses enclosures with more bits than the table's.
func (t *table) misplaced(l law) (n int) {
	const prec = 150
	tails := l.tails(prec)
	for g, x := range t.guide {
		if x >= open {
			continue
		}
		least := new(big.Int).Lsh(big.NewInt(int64(g)), prec-guideBits)
		end := new(big.Int).Lsh(big.NewInt(int64(g+1)), prec-guideBits)
		if least.Cmp(tails[x].hi) < 0 || x > 0 && end.Cmp(tails[x-1].lo) > 0 {
			n++
		}
	}
	return n
}

func (t *table) closed() float64 {
	n := 0
	for _, x := range t.guide {
		if x < open {
			n++
		}
	}
	return float64(n) / float64(len(t.guide))
}

func TestEverySlot(t *testing.T) {
	all := map[string]law{"gaussian 255": gaussianLaw(255), "geometric 31.9": geometricLaw(31.9)}
	for name, l := range laws {
		all[name] = l
	}
	for _, sigma := range wideSigmas {
		all[fmt.Sprint("cells of ", sigma)] = gaussian(t, sigma).cells.law
	}
	for name, l := range all {
		t.Run(name, func(t *testing.T) {
			made := newTable(l)
			require.Zero(t, made.misplaced(l))
			require.Greater(t, made.closed(), 0.9)
		})
	}
	for _, sigma := range wideSigmas {
		require.Greater(t, newTable(gaussian(t, sigma).cells.law).closed(), 0.97, "slots that need no search")
	}
}

func TestEverySlotControls(t *testing.T) {
	l := gaussian(t, 1000).cells.law
	for name, spoil := range map[string]func(*table){
		"one tail too low": func(made *table) { made.tails[30] -= 1 << (uBits - guideBits); made.index() },
		"an open slot closed": func(made *table) {
			for g, x := range made.guide {
				if x >= open {
					made.guide[g] -= open
					return
				}
			}
		},
		"the cell before": func(made *table) { made.guide[4000]-- },
	} {
		made := newTable(l)
		require.Zero(t, made.misplaced(l))
		spoil(made)
		require.Positive(t, made.misplaced(l), name)
	}
}

// reaches reports whether (2x+1) reach is at least 2^64 (2x+1)/(2 s^2), without
// overflow, for every x that a closed slot has.
func reaches(d *DiscreteGaussian) bool {
	s2 := new(big.Int).SetUint64(d.num)
	s2.Mul(s2, s2)
	left := new(big.Int).Mul(new(big.Int).SetUint64(d.reach), s2)
	right := new(big.Int).Lsh(big.NewInt(1), 63+2*(d.shift+d.fine))
	if left.Cmp(right) < 0 {
		return false
	}
	for _, x := range d.cells.table().guide {
		if hi, _ := bits.Mul64(2*uint64(x)+1, d.reach); x < open && (hi > 0 || x >= 1<<9) {
			return false
		}
	}
	return true
}

func TestReach(t *testing.T) {
	check := func(t require.TestingT, sigma float64) {
		d := gaussian(t, sigma)
		require.GreaterOrEqual(t, d.known(), uint(15))
		require.Zero(t, d.reach<<d.known(), "bits of J and B in it")
		require.True(t, reaches(d), sigma)
		d.reach -= 1 << (64 - d.known())
		require.False(t, reaches(d), "control")
	}
	for _, sigma := range wideSigmas {
		check(t, sigma)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, math.Exp2(rapid.Float64Range(8, 40).Draw(t, "log2 sigma"))) })
}

// thresholds returns two words, one on either side of the first word for which quick is
// sure of a closed slot. Their J is the one that needs the most.
func thresholds(d *DiscreteGaussian, slot uint64) (below, from uint64) {
	x := uint64(d.cells.table().guide[slot])
	bound := (2*x + 1) * d.reach
	low := uint64(1)<<(d.fine+1) - 1
	word := func(v uint64) uint64 { return slot<<(64-guideBits) | v>>guideBits | low }
	return word(bound - 1<<(64-d.known())), word(bound)
}

// disagrees reports whether some further words would decide otherwise than quick did
// without them. Big integers make that decision.
func disagrees(d *DiscreteGaussian, w uint64, more *Stream) bool {
	m, ok := d.quick(d.cells.table(), w)
	if !ok {
		return false
	}
	for _, u := range []uint64{0, math.MaxUint64, more.Uint64()} { // ends of the slot
		v := u & more.Uint64() // low ones refuse
		if u == math.MaxUint64 {
			v = 0
		}
		if exact, ok := exactSettle(d, more, w, u, v); !ok || exact != m {
			return true
		}
	}
	return false
}

func TestQuickIsWhatTheFurtherWordsWouldSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := rapid.OneOf(rapid.SampledFrom(wideSigmas), rapid.Custom(func(t *rapid.T) float64 {
			return math.Exp2(rapid.Float64Range(8, 40).Draw(t, "log2 sigma"))
		})).Draw(t, "sigma")
		d := gaussian(t, sigma)
		made := d.cells.table()
		s := SeedKey(rapid.Uint64().Draw(t, "seed")).Stream()
		require.False(t, disagrees(d, s.Uint64(), s))
		slot := s.Uint64N(1 << guideBits)
		if made.guide[slot] >= open {
			return
		}
		below, from := thresholds(d, slot)
		_, ok := d.quick(made, below)
		require.False(t, ok)
		_, ok = d.quick(made, from)
		require.True(t, ok)
		require.False(t, disagrees(d, from, s))
	})
}

func TestSettleAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := gaussian(t, rapid.SampledFrom(wideSigmas).Draw(t, "sigma"))
		word := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1}))
		w, u, v := word.Draw(t, "w"), word.Draw(t, "u"), word.Draw(t, "v")
		key := SeedKey(rapid.Uint64().Draw(t, "seed"))
		a, b := key.Stream(), key.Stream()
		wantM, want := exactSettle(d, a, w, u, v)
		gotM, got := d.settle(b, d.cells.table(), w, u, v)
		require.Equal(t, wantM, gotM)
		require.Equal(t, want, got)
		require.Equal(t, a.Uint64(), b.Uint64(), "words read")
	})
}

func TestSettleFourAgreesWithDecide(t *testing.T) {
	const rest = uBits - guideBits
	for _, sigma := range wideSigmas {
		d := gaussian(t, sigma)
		made := d.cells.table()
		s := SeedKey(24).Stream()
		values, refusals := 0, 0
		for range 5000 {
			s.src.refill()
			words, more := (*[4]uint64)(s.src.words[:]), s.src.words[8:]
			slot := more[0] >> (64 - guideBits)
			cell := made.guide[slot]
			if cell >= open {
				words[0] = slot<<(64-guideBits) | words[0]>>guideBits
				if tail := made.tails[cell-open]; tail>>rest == slot && more[1]%2 == 0 { // U beside it
					words[1] = (tail+more[2]%9-4)<<(64-rest) | words[1]>>rest
				}
			} else if more[1]%4 > 0 { // V below the first that quick takes
				bound := (2*uint64(cell) + 1) * d.reach
				v := words[2] % bound >> (64 - d.known()) << (64 - d.known())
				words[0] = slot<<(64-guideBits) | v>>guideBits | words[0]<<(63-d.fine)>>(63-d.fine)
			} else { // 0 or a word of ones, or nearly so
				words[more[2]%4] = more[3]%3 - 1
			}
			y, accepted, rejected := d.settleFour(made, words)
			if !accepted && !rejected {
				continue
			}
			s.src.at = 1
			want, ok := d.decide(s, made, words[0])
			require.NotEqual(t, accepted, rejected)
			require.Equal(t, ok, accepted)
			if ok {
				values++
				require.Equal(t, want, y)
				require.EqualValues(t, 3, s.src.at, "words read")
			} else {
				refusals++
				require.EqualValues(t, 4, s.src.at, "words read")
			}
		}
		require.Greater(t, values, 500)
		require.Greater(t, refusals, 500)
	}
}

// A reach a quarter too short is caught: it accepts what further words would refuse.
func TestQuickControl(t *testing.T) {
	for _, sigma := range []float64{1000, 1 << 28, maxScale} {
		d := gaussian(t, sigma)
		made := d.cells.table()
		short := gaussian(t, sigma)
		short.reach -= short.reach / 4 >> (64 - d.known()) << (64 - d.known())
		s := SeedKey(20).Stream()
		right, wrong := 0, 0
		for slot := range uint64(1) << guideBits {
			if made.guide[slot] >= open || slot%128 != 0 {
				continue
			}
			_, from := thresholds(short, slot)
			if disagrees(d, from, s) {
				right++
			}
			if disagrees(short, from, s) {
				wrong++
			}
		}
		require.Zero(t, right)
		require.Positive(t, wrong, sigma)
	}
}

func TestFillIsRepeatedSample(t *testing.T) {
	for _, sigma := range []float64{minScale, 40, 300, 1 << 28, maxScale} {
		d := gaussian(t, sigma)
		for on := portable; on <= machine; on++ {
			var a, b Stream
			a.src.seedBy(on, [32]byte{23})
			b.src.seedBy(portable, [32]byte{23})
			for _, n := range []int{1000, 0, 1, 200, leastQuick, 4096} {
				dst := make([]int64, n)
				d.Fill(dst, &a)
				for _, y := range dst {
					require.Equal(t, d.Sample(&b), y)
				}
			}
			require.Equal(t, b.Uint64(), a.Uint64(), "words read")
		}
	}
}

func TestTellIsQuick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := gaussian(t, rapid.SampledFrom(wideSigmas).Draw(t, "sigma"))
		made := d.cells.table()
		s := SeedKey(rapid.Uint64().Draw(t, "seed")).Stream()
		var words [quickWords]uint64
		for i := range words {
			words[i] = s.Uint64()
			switch slot := s.Uint64N(1 << guideBits); {
			case s.Uint64N(20) > 0:
			case made.guide[slot] >= open:
				words[i] = slot << (64 - guideBits)
			default:
				below, from := thresholds(d, slot)
				words[i] = []uint64{below, from, from - from&1, uint64(1)<<(63-guideBits) | slot&1}[s.Uint64N(4)]
			}
		}
		for on := portable; on <= machine; on++ {
			decided := quickValues{odd: s.Uint64()}
			d.quickAll(on, &decided, &words, made)
			for i, w := range words {
				m, ok := d.quick(made, w)
				require.Equal(t, !ok || m == 0, decided.odd>>i&1 == 1, "word %d, path %d", i, on)
				if y, _ := signed(m, w&1); ok {
					require.Equal(t, y, decided.values[i], "word %d, path %d", i, on)
				}
			}
		}
	})
}
