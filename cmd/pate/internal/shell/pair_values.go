package shell

import (
	"github.com/spf13/cobra"

	"github.com/pate-go/pate/dataset"
)

// Complete says what the flags of a pair of private and public rows take, and the
// arguments beside them.
func (f *PairFlags) Complete(cmd *cobra.Command) {
	rows := Files("csv", "tsv", "gz", "zst", "parquet", "npy")
	lines := Files("npy", "csv", "txt", "parquet")
	Complete(cmd, map[string]Values{
		"public": rows, "labels": lines, "units": lines, "public-labels": lines,
		"label": Anything(), "unit": Anything(), "unit-name": Suggested("record", "patient", "user"), "kind": Words(dataset.Kinds()...),
		"drop": Anything(), "keep": Anything(), "image-size": Anything(),
		"header": Words("auto", "yes", "no"), "separator": Suggested("tab"), "class-names": Anything(), "other-labels": Suggested("drop"),
	})
	CompleteArgs(cmd, rows)
}
