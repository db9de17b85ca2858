package published

import (
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/run"
)

// Charged returns the entry of a ledger that was committed for the file of labels with this hash, and the
// guarantee of the whole ledger. The ledger is verified whole, and compared with the head that is kept for
// it. Labels that it did not commit are an [*fault.Error].
func Charged(path, sha256 string) (Provenance, error) {
	raw, err := hex.DecodeString(sha256)
	if err != nil || len(raw) != 32 {
		return Provenance{}, fmt.Errorf("published: %q is no hash", sha256)
	}
	known, err := run.ReadHeads(path)
	if err != nil {
		return Provenance{}, fmt.Errorf("published: %w", err)
	}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return Provenance{}, &fault.Error{
			File: path, What: "is no ledger that can be read", Err: err, Fix: "give the ledger that paid for the labels",
		}
	}
	defer f.Close()
	var entry int64
	sum, err := ledger.Verify(f, ledger.VerifyOptions{Heads: known.Of, Outcome: func(of int64, hash [32]byte) {
		if entry == 0 && hash == [32]byte(raw) {
			entry = of
		}
	}})
	if err != nil {
		return Provenance{}, fmt.Errorf("published: %s: %w", path, err)
	}
	if entry == 0 {
		return Provenance{}, &fault.Error{
			File: path, What: "did not release these labels", Check: true,
			Why: "no entry was committed with their hash: the file was changed, or comes from elsewhere",
			Fix: "give the labels as pate label wrote them, and the ledger that paid for them",
		}
	}
	epsilon, err := sum.Claim(sum.Config.Delta)
	if err != nil {
		return Provenance{}, fmt.Errorf("published: %w", err)
	}
	c := sum.Config
	return Provenance{
		Ledger: filepath.Base(path), Entry: entry, Epsilon: epsilon, Delta: c.Delta, Unit: c.Unit, Relation: c.Relation.String(),
		Releasable: c.Releasable(), Waived: c.Waived,
	}, nil
}
