package shell

import (
	"strings"
	"unicode/utf8"
)

// ShellWord quotes a word for a POSIX shell if it must be.
func ShellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Folded breaks a text into lines of at most that number of columns.
func Folded(text string, columns int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= columns {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// NotReleasable says in a word why what a table shows must not leave: the refusals that were waived
// or, without one, the seed.
func NotReleasable(waived []string) string {
	if len(waived) > 0 {
		return "no: waived " + strings.Join(waived, ", ")
	}
	return "no: seeded"
}
