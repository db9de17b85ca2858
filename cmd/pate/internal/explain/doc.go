// Package explain is the command `pate learn explain`: mechanisms step by step, with their numbers.
package explain
