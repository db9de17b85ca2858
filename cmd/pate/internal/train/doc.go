// Package train is pate train: private rows and public ones in, votes out.
package train
