// Package dpsgd is the command `pate dpsgd`: one private model.
package dpsgd
