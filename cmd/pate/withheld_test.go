package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// Rows that score, or are asked about, under --split development of one's own table are
// private under the default split: nothing of such a run may be released beside one on it.
func TestAnotherSplitOfOwnDataIsWithheld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	blobs(t, data, 900)
	base := []string{"--data", data, "--label", "kind", "--unit", "who", "--delta", "1e-4", "--epsilon", "4", "--format", "json"}
	for command, args := range map[string][]string{
		"dpsgd":   {"dpsgd", "--steps", "5"},
		"compare": {"compare", "--methods", "dpsgd/linear,pate/gnmax"},
		"tune":    {"tune", "--learning-rate", "1", "--law", "geometric", "--steps", "5"},
	} {
		for _, split := range []string{"literature", "development"} {
			out := filepath.Join(dir, command+"-"+split)
			text, errs := typed(t, shell.ExitDone, slices.Concat(args, base, []string{"--split", split, "--out", out})...)
			var r struct {
				Releasable bool
				Withheld   string
			}
			require.NoError(t, json.Unmarshal([]byte(text), &r))
			own := split == "development"
			require.Equal(t, own, strings.Contains(errs, "pate tune"), errs)
			require.Equal(t, own, strings.Contains(r.Withheld, "pate tune"), r.Withheld)
			if !own {
				continue
			}
			require.False(t, r.Releasable, command)
			require.NotContains(t, text, `"releasable": true`)
			shown, _ := typed(t, shell.ExitDone, slices.Concat(args, base[:len(base)-2], []string{"--split", split, "--out", out})...)
			require.Contains(t, shown, "Not releasable")
			require.Contains(t, strings.Join(strings.Fields(shown), " "), r.Withheld)
			public := testkit.Must(filepath.Glob(filepath.Join(out, "public", "*")))
			require.Equal(t, []string{filepath.Join(out, "public", "accounts")}, public)
			var ledgers []string
			require.NoError(t, filepath.WalkDir(out, func(path string, _ os.DirEntry, err error) error {
				if filepath.Ext(path) == ".jsonl" {
					ledgers = append(ledgers, path)
				}
				return err
			}))
			require.NotEmpty(t, ledgers)
			for _, l := range ledgers {
				stated, _ := typed(t, shell.ExitDone, "ledger", "statement", l, "--format", "json")
				require.Contains(t, stated, `"releasable": false`, l)
			}
			models := testkit.Must(filepath.Glob(filepath.Join(out, "private", "results", "models", "*.model")))
			require.Len(t, models, 1)
			for _, public := range [][]string{nil, {"--public-rows"}} {
				text, _ := typed(t, shell.ExitDone, slices.Concat([]string{"predict", models[0], base[1]}, base[2:6], []string{"--scored", "--split", split, "--format", "json"}, public)...)
				require.Contains(t, text, `"releasable": false`)
			}
		}
	}
}
