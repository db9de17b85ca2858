// Package law is the command `pate learn law`: exact output laws of mechanisms.
package law
