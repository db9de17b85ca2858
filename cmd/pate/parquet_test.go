package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// TestTrainOnParquet: a Parquet table trains the teachers of the same table in CSV. One row
// more moves one column of votes and nothing public, though pandas, for that row, writes a
// column of integers as floats; and so does no other way to cut and compress the same rows.
func TestTrainOnParquet(t *testing.T) {
	file := func(name string) []byte {
		raw := testkit.Must(os.ReadFile(filepath.Join("../../dataset/testdata/parquet", name)))
		return raw
	}
	for _, unit := range []string{"", "patient"} {
		on := func(private, public string) trained {
			args := []string{"DIR/private", "--public", "DIR/public", "--label", "outcome", "--class-names", "ill,well", "--teachers", "5", "--learner", "softmax"}
			if unit != "" {
				args = append(args, "--unit", unit)
			} else {
				args = append(args, "--drop", "patient")
			}
			return trainOn(t, map[string][]byte{"private": file(private), "public": file(public)}, 2, args...)
		}
		want := on("people.csv", "groups.parquet") // a copy of the private file is refused
		for same, public := range map[string]string{"people.parquet": "people.csv", "groups.parquet": "people.parquet"} {
			got := on(same, public)
			require.Equal(t, want.public, got.public)
			require.Equal(t, want.votes.Hash(), got.votes.Hash())
		}
		more := on("gap.parquet", "people.csv")
		neighbours(t, want, more, true, "a row without an integer")
		require.NotEqual(t, want.votes.Hash(), more.votes.Hash(), "and one column it does change")
	}
}
