// Package explain is the command `pate explain`: mechanisms step by step, with their numbers.
package explain
