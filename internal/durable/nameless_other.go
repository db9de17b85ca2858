//go:build !linux

package durable

// nameless reports that files without names are not supported.
func nameless(string) (known bool, err error) { return false, nil }
