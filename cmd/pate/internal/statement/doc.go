// Package statement is the command `pate statement`: the one-page privacy statement of a ledger.
package statement
