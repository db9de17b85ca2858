package ledger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// roomy has room for any benchmark.
func roomy(mode Mode) Config {
	c := testConfig
	c.Mode, c.Epsilon = mode, 1e5
	return c
}

// BenchmarkPairs writes reserve+commit pairs to a file, with one sync for the reservations of a batch and
// one for its commits.
func BenchmarkPairs(b *testing.B) {
	for _, mode := range []Mode{Reserved, Filter} {
		for _, batch := range []int{1, 100, 1000, 10000} {
			b.Run(fmt.Sprintf("%v/batch=%d", mode, batch), func(b *testing.B) {
				l := testkit.Must(Open(b.Context(), filepath.Join(b.TempDir(), "ledger.jsonl"), roomy(mode), VerifyOptions{}))
				defer l.Close()
				events := make([]accountant.Event, batch)
				for i := range events {
					events[i] = accountant.GNMax{Sigma: 40}
				}
				pairs := 0
				for b.Loop() {
					l.chain.sealed = false // to measure the same in both modes
					reservations, err := l.ReserveBatch(events)
					if err != nil {
						b.Fatal(err)
					}
					outcomes := make([]Outcome, batch)
					for i, r := range reservations {
						outcomes[i] = Outcome{Of: r, Bytes: []byte{byte(i)}}
					}
					l.chain.sealed = true
					if err := l.CommitBatch(outcomes); err != nil {
						b.Fatal(err)
					}
					pairs += batch
				}
				b.ReportMetric(float64(pairs)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

// BenchmarkTwoSyncs is what the disk allows an unbatched pair.
func BenchmarkTwoSyncs(b *testing.B) {
	s := testkit.Must(openDisk(filepath.Join(b.TempDir(), "file")))
	defer s.Close()
	text := bytes.Repeat([]byte("x"), 250)
	size := int64(0)
	for b.Loop() {
		for range 2 {
			if _, err := s.WriteAt(text, size); err != nil {
				b.Fatal(err)
			}
			if err := s.Sync(); err != nil {
				b.Fatal(err)
			}
			size += int64(len(text))
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// long is the file of a filter with so many entries, each committed.
func long(b testing.TB, mode Mode, entries int, event accountant.Event) []byte {
	m := &memory{data: make([]byte, 0, 520*entries)}
	l := testkit.Must(openStore(m, roomy(mode), VerifyOptions{}))
	events := make([]accountant.Event, min(entries, 1000))
	for i := range events {
		events[i] = event
	}
	var done []Outcome
	for n := 0; n < entries; n += len(events) {
		reservations := testkit.Must(l.ReserveBatch(events))
		for _, r := range reservations {
			done = append(done, Outcome{Of: r, Bytes: []byte("label")})
		}
		if mode == Filter {
			require.NoError(b, l.CommitBatch(done))
			done = done[:0]
		}
	}
	require.NoError(b, l.CommitBatch(done))
	return m.data
}

// BenchmarkVerify reads ledgers of a million entries, each committed.
func BenchmarkVerify(b *testing.B) {
	events := map[string]accountant.Event{
		"gnmax": accountant.GNMax{Sigma: 40},
		"dpsgd": accountant.PoissonSampled{Probability: 0.001, Event: accountant.Gaussian{NoiseMultiplier: 10}},
	}
	for _, mode := range []Mode{Reserved, Filter} {
		for name, event := range events {
			b.Run(fmt.Sprintf("%v/%s", mode, name), func(b *testing.B) {
				data := long(b, mode, 1_000_000, event)
				for b.Loop() {
					s, err := verify(data)
					if err != nil || s.Entries != 1_000_000 || s.Commits != 1_000_000 {
						b.Fatal(s, err)
					}
				}
				b.SetBytes(int64(len(data)))
			})
		}
	}
}

// TestMemoryDoesNotGrowWithLength: neither of a ledger that is written nor of one that is verified.
func TestMemoryDoesNotGrowWithLength(t *testing.T) {
	heap := func(keep any) float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(keep)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(Open(t.Context(), path, roomy(Filter), VerifyOptions{}))
	batch := make([]accountant.Event, 1000)
	for i := range batch {
		batch[i] = accountant.GNMax{Sigma: 40}
	}
	write := func(batches int) {
		for range batches {
			reservations := testkit.Must(l.ReserveBatch(batch))
			outcomes := make([]Outcome, len(batch))
			for i, r := range reservations {
				outcomes[len(batch)-1-i] = Outcome{Of: r} // in another order
			}
			require.NoError(t, l.CommitBatch(outcomes))
		}
	}
	write(1)
	before := heap(l)
	write(30)
	require.Less(t, heap(l)-before, 1.0, "MB kept for 30000 entries")
	require.NoError(t, l.Close())

	file := testkit.Must(os.Open(path))
	defer file.Close()
	before = heap(nil)
	s := testkit.Must(Verify(file, VerifyOptions{}))
	require.EqualValues(t, 31000, s.Commits)
	require.Less(t, heap(s)-before, 1.0)
}
