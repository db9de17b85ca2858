package rng

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func secretOf(t require.TestingT, k Key) string {
	return string(testkit.Must(k.MarshalText()))
}

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

// TestStreamsAreThoseOfDerivedKeys asks for streams in any order, some of them twice and
// after others were read to any length.
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

func TestStreamsPrintNoSecret(t *testing.T) {
	s := SeedKey(5).Streams("a")
	s.Of(1)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		require.Equal(t, "rng.Streams(redacted)", fmt.Sprintf(verb, s))
	}
}

func TestStreamsAllocateNothing(t *testing.T) {
	s, query := SeedKey(1).Streams("query"), uint64(0)
	s.Of(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		query++
		s.Of(query).Uint64()
	}))
}
