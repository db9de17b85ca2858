// Package analyze is the command `pate votes analyze` and `pate votes analyze release`: the private report on a
// votes file, and the one number of it that is charged and released.
package analyze
