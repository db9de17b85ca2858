package label

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// TestLedgersOfForm1 repeats runs of every mechanism on ledgers that a program wrote
// before parameters had their own names. Each is found again, and is complete.
func TestLedgersOfForm1(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/form1")))
	for _, name := range []string{"run.jsonl", "stable.jsonl"} {
		for _, end := range []string{"", ".id", ".head"} { // which version control makes readable
			require.NoError(t, os.Chmod(filepath.Join(dir, name+end), 0o600))
		}
	}
	seed := uint64(11)
	for file, run := range map[string]struct {
		ledger   string
		from, to int
		setting  aggregate.Setting
	}{
		"gnmax.csv":            {"run.jsonl", 0, 8, with("gnmax", "sigma", 4.0)},
		"confident.csv":        {"run.jsonl", 8, 16, with("confident", "threshold", 15.0, "sigma1", 5.0, "sigma2", 3.0, "answers", 6.0)},
		"interactive.csv":      {"run.jsonl", 16, 24, with("interactive", "threshold", 3.0, "sigma1", 5.0, "sigma2", 3.0, "answers", 6.0, "confidence", 0.45)},
		"lnmax.csv":            {"run.jsonl", 24, 30, with("lnmax", "scale", 3.0)},
		"exponential.csv":      {"run.jsonl", 30, 36, with("exponential", "scale", 3.0)},
		"permute-and-flip.csv": {"run.jsonl", 36, 42, with("permute-and-flip", "scale", 3.0)},
		"m-stab.csv":           {"stable.jsonl", 0, 10, with("m-stab", "scale", 1.0, "threshold", 8.0)},
		"m-stab-sigma.csv":     {"stable.jsonl", 10, 20, with("m-stab", "sigma", 1.5, "threshold", 7.0)},
		"stable-svt.csv":       {"stable.jsonl", 20, 40, with("stable-svt", "b1", 0.5, "b2", 1.0, "threshold", 6.0, "failures", 4.0)},
	} {
		t.Run(file, func(t *testing.T) {
			c := Config{Ledger: filepath.Join(dir, run.ledger), Out: filepath.Join(dir, file), Pool: "pool", Setting: run.setting, Seed: &seed,
				Votes: open(t, filepath.Join(dir, "votes.csv"), votes.Options{From: run.from, To: run.to})}
			if run.setting.Mechanism == "interactive" {
				c.Predictions = filepath.Join(dir, "predictions.csv")
			}
			r := release1(t, c)
			require.True(t, r.Complete)
			require.Equal(t, run.setting.Values, r.Setting.Values)
			if file == "gnmax.csv" { // the first of its ledger, with the same noise as then
				require.Equal(t, strings.Replace(read(t, c.Out), heading, withheldHeading, 1), expected(t, c, r.Setting, rng.SeedKey(seed)))
			}
			for name, v := range run.setting.Values { // other values are another run
				other := c
				other.Setting = c.Setting.With(name, v+1)
				if name == "confidence" {
					other.Setting = c.Setting.With(name, v/2)
				}
				_, err := Run(context.Background(), other)
				require.ErrorContains(t, err, name)
			}
		})
	}
}

// TestTagOfForm1: the key of an unfinished run is found under the name that the program
// of form 1 gave it.
func TestTagOfForm1(t *testing.T) {
	const name = `{"label":1,"pool":"pool","queries":[0,200000],"mechanism":"confident","threshold":15,"sigma1":4000,"sigma":2000,"answers":600,"classes":3,"votes":"f20fbd148beac2fcb6668969b26f01b7","key":"88a2a157ef793c219eef3d7251579c46"}`
	id, ok, err := parseIdentity(name)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "run.jsonl.01664624dfa8.key", keyFile("run.jsonl", id))
	require.Equal(t, map[string]float64{"threshold": 15, "sigma1": 4000, "sigma2": 2000, "answers": 600}, id.Parameters)
	again, err := id.encode()
	require.NoError(t, err)
	require.Equal(t, name, again)
	require.Equal(t, "labels of queries 0:200000 of pool", Describe(name))
	require.Empty(t, Describe(strings.Replace(name, "confident", "magic", 1)))
	require.Empty(t, Describe("pate dpsgd 12"))

	_, _, err = parseIdentity(strings.Replace(name, "confident", "magic", 1))
	require.ErrorContains(t, err, "magic")
}
