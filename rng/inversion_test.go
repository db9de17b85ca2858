package rng

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

// coarse returns the inversion of l with a table that claims less than it knows, so that it
// often asks for the exact comparison.
func coarse(l law, slack uint64) *inversion {
	v := &inversion{law: l}
	t := newTable(l)
	if slack > t.slack {
		for i, e := range t.tails {
			t.tails[i] = e - min(e, slack/2)
		}
		t.slack = slack
		t.index()
	}
	v.made.Store(t)
	return v
}

func places() int {
	if *long {
		return 20
	}
	return 10
}

// TestTableAgreesWithExact forces the first bits of U to the places where the table must be
// right: around every entry, at both ends, in the far tail.
func TestTableAgreesWithExact(t *testing.T) {
	for name, l := range laws {
		t.Run(name, func(t *testing.T) {
			exact := newTable(l)
			forced := []uint64{0, 1, 2, 3, 1 << 10, 1 << 30, 1<<62 - 1, 1 << 62, 1<<63 - 1}
			step := 1 + len(exact.tails)/few(places())
			for i := 0; i < len(exact.tails); i += step {
				e := exact.tails[i]
				forced = append(forced, e-min(e, 2), e-min(e, 1), e, e+1, e+2, e+3)
			}
			for _, slack := range []uint64{0, 1 << 40, 1 << 58} {
				v := coarse(l, slack)
				fallbacks := 0
				for i, u := range forced {
					u = min(u, 1<<uBits-1)
					key := SeedKey(uint64(i))
					a, b := key.Stream(), key.Stream()
					if _, ok := v.made.Load().find(u); !ok {
						fallbacks++
					}
					require.Equal(t, extend(b, l, u, uBits), v.find(a, u), "u %d slack %d", u, slack)
					require.Equal(t, b.Uint64(), a.Uint64(), "words read")
				}
				require.Positive(t, fallbacks)
			}
		})
	}
}

func TestExtendFromNothing(t *testing.T) {
	for name, l := range laws {
		v := inversion{law: l}
		key := SeedKey(3)
		a, b := key.Stream(), key.Stream()
		for range few(10 * places()) {
			require.Equal(t, extend(b, l, 0, 0), v.find(a, a.Uint64()>>1), name)
		}
	}
}

func TestTailLaw(t *testing.T) {
	d := gaussian(t, 40)
	const from = 241
	d.cells.find(SeedKey(0).Stream(), 0) // makes the table
	entries := d.cells.made.Load().tails
	mass := math.Ldexp(float64(entries[from-1]), -uBits) / 2 * (1 + math.Exp(d.LogProb(0))) // P[Y >= 241]
	s := SeedKey(4).Stream()
	prob := func(k int64) float64 {
		if k < 0 {
			return 0
		}
		return math.Exp(d.LogProb(k+from)) / mass
	}
	draw := func() int64 { return int64(d.cells.find(s, s.Uint64N(entries[from-1]))) - from }
	requireFits(t, draw, prob)
	requireCaught(t, func() int64 { return max(0, draw()-1) }, prob)
}

func TestSearchFindsEveryEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := gaussianLaw(math.Exp2(rapid.Float64Range(-10, 5).Draw(t, "log2 sigma")))
		made := newTable(l)
		u := rapid.OneOf(rapid.Uint64Max(1<<uBits-1), rapid.Uint64Max(1<<20), rapid.SampledFrom(made.tails)).Draw(t, "u")
		x, _ := made.find(u)
		for i, e := range made.tails {
			require.Equal(t, uint64(i) < x, u < e)
		}
	})
}

func TestTablesDecideNearlyAlways(t *testing.T) {
	for _, l := range []law{gaussianLaw(255.99), geometricLaw(31.99), halfGaussian{40, 0}} {
		made := newTable(l)
		require.Less(t, uint64(len(made.tails))*made.slack, uint64(1)<<(uBits-50))
	}
}

func TestSamplingProbabilityIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "mantissa"), -rapid.IntRange(0, 63).Draw(t, "exponent"))
		b := NewBernoulli(q)
		if b.always {
			require.Equal(t, 1.0, q)
			return
		}
		threshold := big.NewInt(int64(b.first))
		for _, word := range []uint64{b.hi, b.lo} {
			threshold.Add(threshold.Lsh(threshold, 64), new(big.Int).SetUint64(word))
		}
		got := new(big.Rat).SetFrac(threshold, new(big.Int).Lsh(big.NewInt(1), 136))
		require.Zero(t, got.Cmp(new(big.Rat).SetFloat64(q)))
	})
}

func TestSampledBytes(t *testing.T) {
	for first := range 256 {
		b := Bernoulli{first: byte(first)}
		for u := range 256 { // in every place, among neighbours that borrow and carry
			for _, around := range []uint64{0, math.MaxUint64, 0x8000007fff800100} {
				for j := range 8 {
					word := around&^(255<<(8*j)) | uint64(u)<<(8*j)
					want := uint64(0)
					for k := range 8 {
						if byte(word>>(8*k)) <= byte(first) {
							want |= 128 << (8 * k)
						}
					}
					if got := b.atMost(word); got != want {
						t.Fatalf("%x: %x, not %x", word, got, want)
					}
				}
			}
		}
	}
}

func TestAmongInParts(t *testing.T) {
	for _, q := range []float64{0x1p-20, 0.01, 0.3, 0.5, 0.9, 1} {
		const n = 1000
		var whole, parts []int
		NewBernoulli(q).Among(n, SeedKey(1).Stream(), func(i int) { whole = append(whole, i) })
		s := SeedKey(1).Stream()
		for from := 0; from < n; from += 24 {
			NewBernoulli(q).Among(min(24, n-from), s, func(i int) { parts = append(parts, from+i) })
		}
		require.Equal(t, whole, parts, q)
	}
}

func TestEightMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.OneOf(rapid.Float64Range(0x1p-20, 1), rapid.SampledFrom([]float64{0.5, 1, 0x1p-64, 1.0 / 256, 255.0 / 256})).Draw(t, "q")
		b, key, n := NewBernoulli(q), SeedKey(rapid.Uint64().Draw(t, "seed")), rapid.IntRange(1, 20).Draw(t, "n")
		one, eight := key.Stream(), key.Stream()
		for range 50 {
			want := byte(0)
			if b.always {
				want = byte(1<<min(n, 8) - 1)
			} else {
				word := one.Uint64()
				for i := range min(n, 8) {
					if u := byte(word >> (8 * i)); u < b.first || u == b.first && b.rest(one) {
						want |= 1 << i
					}
				}
			}
			require.Equal(t, want, b.Eight(eight, n))
		}
		require.Equal(t, one.Uint64(), eight.Uint64(), "words read")
	})
}

func secretOf(t require.TestingT, k Key) string { return string(testkit.Must(k.MarshalText())) }

// TestDerivationIsFrozen checks words that never change. The derivation is part of every
// stored run: a resumed run must find the same noise. HMAC-SHA256 and ChaCha8 are fixed by
// their specifications. The encoding is this project's own.
func TestDerivationIsFrozen(t *testing.T) {
	k := SeedKey(1)
	require.Equal(t, "pate-key-1:seeded:0SZX2DE7X0chQyh0B4tiJX8iVAY19XBIPWNlojgP3GE", secretOf(t, k))
	require.Equal(t, "pate-key-1:seeded:c4862gql-jhsqfq1dCi0P4WG3rCnJxKqgNLwF0zq-jo", secretOf(t, k.Derive("gnmax", 7)))
	require.Equal(t, "pate-key-1:seeded:UMUA582Y7vQh-DJ0qOG8_4AjEaHz9v-7joNNX4b9wBE", secretOf(t, k.DeriveBytes("votes", []byte("abc"))))
	require.Equal(t, uint64(12465371309567304653), k.Stream().Uint64())
}

// TestDerivationIsHMAC uses names of every length, among them those that fill the buffer on the stack.
func TestDerivationIsHMAC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := SeedKey(rapid.Uint64().Draw(t, "seed"))
		label := rapid.StringN(0, 300, 300).Draw(t, "label")
		ids := rapid.SliceOfN(rapid.Uint64(), 0, 40).Draw(t, "ids")
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
		reference := func(domain byte, rest []byte) Key {
			mac := hmac.New(sha256.New, k.secret.bytes[:])
			mac.Write(binary.BigEndian.AppendUint64([]byte{domain}, uint64(len(label))))
			mac.Write([]byte(label))
			mac.Write(rest)
			return Key{secret: seal([sha256.Size]byte(mac.Sum(nil)))}
		}
		encoded := binary.BigEndian.AppendUint64(nil, uint64(len(ids)))
		for _, id := range ids {
			encoded = binary.BigEndian.AppendUint64(encoded, id)
		}
		require.Equal(t, reference(domainIDs, encoded), k.Derive(label, ids...))
		require.Equal(t, reference(domainBytes, data), k.DeriveBytes(label, data))
	})
}

func TestReleasableIsInherited(t *testing.T) {
	secure := testkit.Must(NewKey())
	require.True(t, secure.Releasable())
	require.True(t, secure.Derive("a", 1).DeriveBytes("b", nil).Releasable())
	require.False(t, SeedKey(1).Releasable())
	require.False(t, SeedKey(1).Derive("a").DeriveBytes("b", nil).Releasable())
	require.False(t, Key{}.Releasable())

	for _, k := range []Key{secure, SeedKey(3), secure.Derive("x")} {
		var back Key
		require.NoError(t, back.UnmarshalText([]byte(" "+secretOf(t, k)+"\n")))
		require.Equal(t, k, back)
	}
}

func TestDeriveIsInjective(t *testing.T) {
	k := SeedKey(9)
	seen := map[string]string{}
	add := func(name string, c Key) {
		s := secretOf(t, c)
		require.NotContains(t, seen, s, name)
		seen[s] = name
	}
	add("self", k)
	add("other seed", SeedKey(10))
	add("empty", k.Derive(""))
	add("a", k.Derive("a"))
	add("a 0", k.Derive("a", 0))
	add("a 0 0", k.Derive("a", 0, 0))
	add("a 1", k.Derive("a", 1))
	add("a then 1", k.Derive("a").Derive("", 1))
	add("label with the bytes of an id", k.Derive("a\x00\x00\x00\x00\x00\x00\x00\x01"))
	add("bytes empty", k.DeriveBytes("", nil))
	add("bytes a", k.DeriveBytes("a", nil))
	add("bytes a, count 0", k.DeriveBytes("a", make([]byte, 8)))
	add("bytes split elsewhere", k.DeriveBytes("", []byte("a")))
}

func TestZeroKeyIsRefused(t *testing.T) {
	var k Key
	require.True(t, k.IsZero())
	require.Panics(t, func() { k.Stream() })
	require.Panics(t, func() { k.Derive("a") })
	require.Panics(t, func() { k.Streams("a") })
	require.Error(t, testkit.Err(k.MarshalText()))
}

func TestNothingPrintsTheSecret(t *testing.T) {
	k := SeedKey(5)
	type holder struct {
		Exported Key
		hidden   Key
		stream   *Stream
	}
	h := holder{k, k, k.Stream()}
	raw := fmt.Sprint(k.secret.bytes[0], " ", k.secret.bytes[1], " ", k.secret.bytes[2])
	hexed := fmt.Sprintf("%x", k.secret.bytes[:4])
	s := k.Streams("a")
	s.Of(1)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		require.Equal(t, "rng.Streams(redacted)", fmt.Sprintf(verb, s))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p"} {
		for _, v := range []any{k, &k, h, &h, []Key{k}, map[string]Key{"a": k}, k.Stream()} {
			out := fmt.Sprintf(verb, v)
			require.NotContains(t, out, raw, verb)
			require.NotContains(t, out, hexed, verb)
		}
	}
	var buf bytes.Buffer
	slog.New(slog.NewTextHandler(&buf, nil)).Info("m", "key", k, "holder", h)
	slog.New(slog.NewJSONHandler(&buf, nil)).Info("m", "key", k, "holder", h)
	require.NotContains(t, buf.String(), secretOf(t, k)[len(textSeeded):])
	require.NotContains(t, buf.String(), raw)
	require.Error(t, testkit.Err(json.Marshal(h)))
}

func TestUnmarshalRefuses(t *testing.T) {
	good := secretOf(t, SeedKey(1))
	for name, in := range map[string]string{
		"empty": "", "no prefix": good[len(textSeeded):], "short": good[:len(good)-1], "long": good + "A",
		"not base64": good[:len(good)-1] + "!", "version": "pate-key-2" + good[len("pate-key-1"):],
		"unused bits set": good[:len(good)-1] + "_",
	} {
		var k Key
		err := k.UnmarshalText([]byte(in))
		require.Error(t, err, name)
		require.True(t, k.IsZero(), name)
		if len(in) > len(textSeeded) {
			require.NotContains(t, err.Error(), good[len(textSeeded):], name)
		}
	}
}

func FuzzKeyText(f *testing.F) {
	text, _ := SeedKey(1).MarshalText()
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var k Key
		if k.UnmarshalText(text) == nil {
			var again Key
			require.NoError(t, again.UnmarshalText([]byte(secretOf(t, k))))
			require.Equal(t, k, again)
		}
	})
}

func TestStreamsAreThoseOfDerivedKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := SeedKey(rapid.Uint64().Draw(t, "seed"))
		label := rapid.StringN(0, 300, 300).Draw(t, "label")
		names := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64(), 0, 40), 1, 4).Draw(t, "names")
		names = append(names, []uint64{0}) // the first query of all
		streams := k.Streams(label)
		for range 8 {
			ids := names[rapid.IntRange(0, len(names)-1).Draw(t, "which")]
			got, want := streams.Of(ids...), k.Derive(label, ids...).Stream()
			for range rapid.IntRange(1, 100).Draw(t, "words") {
				require.Equal(t, want.Uint64(), got.Uint64())
			}
		}
	})
}

func TestStreamsAllocateNothing(t *testing.T) {
	s, query := SeedKey(1).Streams("query"), uint64(0)
	s.Of(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		query++
		s.Of(query).Uint64()
	}))
}
