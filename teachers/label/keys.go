package label

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pate-go/pate/aggregate"
)

// IDFile is the name of the secret under which the ledger at a path identifies
// votes. It stays for good: without it nothing can be recognised, and nothing more
// is released under the ledger.
func IDFile(ledger string) string { return ledger + ".id" }

// HeadFile is the name of the file that says how far the ledger at a path had come
// when labels last left. A ledger that does not hold that line any more, such as a copy
// from before, is refused.
func HeadFile(ledger string) string { return ledger + ".head" }

// keyFile is the name of the key of an unfinished run.
func keyFile(ledger string, id identity) string { return ledger + "." + id.tag() + ".key" }

// public is a name for a key, or for what it was derived with, that tells nothing
// about it: keys are derived one way.
func public(key aggregate.Key) (string, error) {
	text, err := key.Derive("label public name").MarshalText()
	if err != nil {
		return "", fmt.Errorf("label: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
