package online

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/quota"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

// voters are units of two rows each and public rows, on a line, and requests.
func voters(t *testing.T, less string) (*Voters, Settings, []string) {
	rnd, dir := rand.New(rand.NewPCG(4, 4)), t.TempDir()
	private, public, asked := "x,who,kind\n", "x\n", []string(nil)
	for i := range 80 {
		row := fmt.Sprintf("%.2f,who%d,%c\n", rnd.Float64()+2*float64(i%3), i/2, 'a'+i%3)
		if !strings.Contains(row, ","+less+",") {
			private += row
		}
	}
	for range 60 {
		public += fmt.Sprintf("%.2f\n", 5*rnd.Float64())
		asked = append(asked, fmt.Sprintf(`{"query":%d,"row":[%.2f]}`, len(asked), 5*rnd.Float64()))
	}
	terms := quota.Terms{Units: 40, Questions: 60, Config: quota.Config{Votes: 3, Sigma: 1, Classes: 3, Lead: 1}}
	s := Settings{Mechanism: Quota, Queries: 60, Classes: []string{"a", "b", "c"}, Quota: &terms}
	require.NoError(t, s.Check())
	v, err := ReadVoters(dataset.Source{Path: testkit.Write(t, filepath.Join(dir, "public.csv"), public)},
		dataset.Source{Path: testkit.Write(t, filepath.Join(dir, "private.csv"), private)},
		dataset.Reading{CSV: dataset.CSVOptions{Label: "kind", Unit: "who"}, Rule: dataset.ClassRule{Names: s.Classes}})
	require.NoError(t, err)
	require.NoError(t, v.check(terms))
	return v, s, asked
}

// A server that is killed after any batch, with half a frame after its journal, gives the answers of one
// that ran on; and what it holds of votes is the same, so that no unit has a vote more.
func TestQuotaSurvivesCrashes(t *testing.T) {
	v, s, asked := voters(t, "nobody")
	key := rng.SeedKey(3)
	serve := func(v *Voters, path string) (*Engine, *quotaVotes) {
		if _, err := os.Stat(path); err != nil {
			require.NoError(t, makeJournal(path))
		}
		q := testkit.Must(v.start(*s.Quota, testledger.Reserve(t, accountant.AddRemove, testkit.Must(s.Event())), key)).(*quotaVotes)
		return testkit.Must(Open(t.Context(), path, key, q, nil)), q
	}
	say := func(e *Engine, v *Voters, lines ...string) (said []string) {
		f := testkit.Must(NewFormat(s, v))
		var together []*Question
		for _, line := range lines {
			together = append(together, testkit.Must(f.Parse([]byte(line))))
		}
		for i, r := range testkit.Must(e.Ask(t.Context(), together)) {
			said = append(said, string(f.Append(nil, together[i], r)))
		}
		return said
	}
	whole, _ := serve(v, filepath.Join(t.TempDir(), "journal"))
	want := say(whole, v, asked...)
	require.NoError(t, whole.Stop())
	require.NotEqual(t, want[0], want[1])

	path, rnd := filepath.Join(t.TempDir(), "journal"), rand.New(rand.NewPCG(5, 5))
	var got []string
	for len(got) < len(asked) {
		e, _ := serve(v, path)
		got = append(got, say(e, v, asked[len(got):min(len(got)+1+rnd.IntN(9), len(asked))]...)...)
		require.Equal(t, got, say(e, v, asked[:len(got)]...), "asked again")
		require.NoError(t, e.Stop())
		file := testkit.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
		testkit.Must(file.Write(make([]byte, rnd.IntN(30)))) // a frame that was not written completely
		require.NoError(t, file.Close())
	}
	require.Equal(t, want, got)

	// The answers of the journal stay when a unit is gone.
	less, _, _ := voters(t, "who7")
	e, q := serve(less, path)
	require.Equal(t, want, say(e, less, asked...))
	require.EqualValues(t, len(asked), q.asked)
	require.Equal(t, v.public, q.sample.X, "no radius depends on a private row")
	require.NoError(t, e.Stop())
}

func TestUnitsOfARun(t *testing.T) {
	v, _, _ := voters(t, "nobody")
	less, _, _ := voters(t, "who7")
	path := filepath.Join(t.TempDir(), "units")
	require.NoError(t, v.checkUnits(path, rng.SeedKey(1), false))
	for range 2 {
		require.NoError(t, less.checkUnits(path, rng.SeedKey(1), true))
		require.NoError(t, v.checkUnits(path, rng.SeedKey(1), true), "the units of the start stay")
	}
	require.ErrorIs(t, v.checkUnits(path, rng.SeedKey(2), true), quota.ErrUnits)
	require.NoError(t, less.checkUnits(path, rng.SeedKey(1), false))
	require.ErrorIs(t, v.checkUnits(path, rng.SeedKey(1), true), quota.ErrUnits)
	require.Error(t, v.checkUnits(path+"x", rng.SeedKey(1), true))
	_, err := v.encode([]string{"1", "2"})
	require.ErrorContains(t, err, "2 cells")
}
