// Package account is the command `pate account`: what events cost, by every accountant, and plots of it.
package account
