// Package npy reads and writes heads and elements of NPY files, NumPy's format of one array.
// Heads of strangers are not believed: parsing is bounded, and sizes are for the caller to
// compare with the bytes that are there.
package npy
