package run

import (
	"crypto/sha256"
	"hash"
	"io"

	"github.com/pate-go/pate/accountant/ledger"
)

// hashed is a file that is hashed while it is written or read.
type hashed struct {
	out io.Writer
	sum hash.Hash
}

// Write writes to the file.
func (f *hashed) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	f.sum.Write(p[:n])
	return n, err
}

// outcomes returns what is committed for the file, its hash; it is what all reservations
// led to.
func (f *hashed) outcomes(of []*ledger.Reservation) []ledger.Outcome {
	forms := ledger.FileOutcomes([sha256.Size]byte(f.sum.Sum(nil)))
	outcomes := make([]ledger.Outcome, len(of))
	for i := range of {
		outcomes[i] = ledger.Outcome{Of: of[i], Hash: &forms[0], Earlier: &forms[1]}
	}
	return outcomes
}
