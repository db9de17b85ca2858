package ledger

import (
	"bytes"
	"context"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// Long asks for every schedule of faults, changed byte and killed process, of which tests play a sample by
// default.
var Long = flag.Bool("long", false, "play all of what tests take a sample of")

// sampled returns all, or without -long a part of it.
func sampled(all, part int) int {
	if *Long {
		return all
	}
	return part
}

var testConfig = Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5}

func filterConfig() Config {
	c := testConfig
	c.Mode = Filter
	return c
}

func votes(n int64) accountant.Event {
	return accountant.Repeated{Event: accountant.GNMax{Sigma: 40}, Count: n}
}

// memory is a store that keeps everything.
type memory struct{ data []byte }

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, off)
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.data) {
		m.data = append(m.data, make([]byte, need-len(m.data))...)
	}
	return copy(m.data[off:], p), nil
}

func (m *memory) Size() (int64, error) { return int64(len(m.data)), nil }

func (m *memory) Truncate(size int64) error {
	m.data = m.data[:size]
	return nil
}

func (m *memory) Sync() error       { return nil }
func (m *memory) SyncFolder() error { return nil }
func (m *memory) Close() error      { return nil }

// sample is the file of a ledger with a bit of everything in it.
func sample(t testing.TB, cfg Config) []byte {
	t.Helper()
	var m memory
	l := testkit.Must(openStore(&m, cfg, VerifyOptions{}))
	run := testkit.Must(l.Run("ρ \"1\""))
	first := testkit.Must(l.Reserve(votes(5)))
	rest := testkit.Must(run.ReserveBatch([]accountant.Event{votes(5), accountant.Gaussian{NoiseMultiplier: 10}}))
	require.NoError(t, l.Commit(rest[1], []byte("model")))
	require.NoError(t, l.CommitBatch([]Outcome{{Of: first, Bytes: []byte("a")}, {Of: rest[0], Bytes: []byte("b")}}))
	require.NoError(t, l.Close())
	return m.data
}

// fileOf is a ledger in a file, and the file.
func fileOf(t testing.TB, cfg Config) (*Ledger, *memory) {
	t.Helper()
	m := &memory{}
	return testkit.Must(openStore(m, cfg, VerifyOptions{})), m
}

// renyi returns the Rényi epsilon of count runs of e in an account of their own.
func renyi(e accountant.Event, count int64, delta float64, orders ...float64) float64 {
	account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove, Orders: orders}))
	if err := account.Compose(e, count); err != nil {
		panic(err)
	}
	return testkit.Must(account.Epsilon(context.Background(), delta)).Upper
}

func verify(data []byte) (Summary, error) { return Verify(bytes.NewReader(data), VerifyOptions{}) }
