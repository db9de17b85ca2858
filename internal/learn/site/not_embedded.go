//go:build !course

package site

var embedded Program
