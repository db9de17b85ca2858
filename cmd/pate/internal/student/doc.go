// Package student is `pate student`: a model from released labels, and its predictions.
package student
