// Package ledgers is the command `pate ledger`: shows, verifies and adopts ledgers.
package ledgers
