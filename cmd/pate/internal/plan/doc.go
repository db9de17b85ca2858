// Package plan is the command `pate plan`: a budget in, mechanisms and noise out.
package plan
