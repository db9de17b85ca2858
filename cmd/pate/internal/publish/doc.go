// Package publish is `pate publish`: teachers, labels, student and statement in one command.
package publish
