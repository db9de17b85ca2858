// Package law is the command `pate law`: exact output laws of mechanisms.
package law
