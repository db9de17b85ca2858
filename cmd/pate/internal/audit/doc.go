// Package audit is the command `pate audit`: every claim of the project put to the test.
package audit
