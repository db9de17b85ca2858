// Package sql is the command `pate votes sql`: the SQL that counts votes where they lie, with the
// checks without which the counts would protect nobody.
package sql
