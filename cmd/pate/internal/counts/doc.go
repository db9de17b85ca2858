// Package counts is the command `pate votes counts`: votes files of any size or number to counts.
package counts
