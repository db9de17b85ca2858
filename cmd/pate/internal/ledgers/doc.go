// Package ledgers is the command `pate ledger`: shows, verifies and signs ledgers.
package ledgers
