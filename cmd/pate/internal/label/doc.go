// Package label is the command `pate label`: votes in, released labels out, on a budget.
package label
