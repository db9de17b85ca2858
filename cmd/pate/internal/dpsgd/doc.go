// Package dpsgd is the command `pate dpsgd` and `pate dpsgd predict`: one private model.
package dpsgd
