// Package calibrate is the command `pate calibrate`: the noise, or another parameter, that a budget allows.
package calibrate
