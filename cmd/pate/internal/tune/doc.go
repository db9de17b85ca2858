// Package tune is the command `pate tune`: one private model, its hyper-parameters chosen
// under the same budget.
package tune
