// Package ledgers is the command `pate ledger`: shows, verifies, signs and adopts ledgers.
package ledgers
