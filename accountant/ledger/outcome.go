package ledger

import (
	"crypto/sha256"
	"fmt"
)

// FileOutcomes returns the hashes that a ledger may hold for a file that was released,
// from the SHA-256 of the file. The first is the rule: what is committed is the SHA-256 of
// the file that leaves, the number that sha256sum prints. The second is that of earlier
// versions for labels, the SHA-256 of a line that holds the SHA-256 of the file; it is
// recognised, and no longer written.
func FileOutcomes(file [sha256.Size]byte) [2][sha256.Size]byte {
	return [2][sha256.Size]byte{file, sha256.Sum256(fmt.Appendf(nil, "sha256:%x\n", file))}
}
