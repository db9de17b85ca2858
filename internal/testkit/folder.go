package testkit

import (
	"os"
	"testing"
)

// Folder returns a folder for programs that may still write for a moment after they were
// ended, as browsers do. Unlike that of t.TempDir, what of it cannot be removed fails no test.
func Folder(t testing.TB) string {
	dir, err := os.MkdirTemp("", "pate-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
