// Package student is `pate student`: a model from released labels.
package student
