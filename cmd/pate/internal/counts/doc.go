// Package counts is the command `pate counts`: votes files of any size or number to counts.
package counts
