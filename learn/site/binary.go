package site

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed course.lzma
var packed []byte

// binaryText returns bytes as characters of windows-1252 that HTML leaves alone in a script
// element: NUL, CR, < and = are an equals sign and the byte moved by 64. app.js undoes it.
func binaryText(data []byte) []byte {
	out := make([]byte, 0, len(data)+len(data)/50)
	for _, b := range data {
		switch b {
		case 0, '\r', '<', '=':
			out = append(out, '=', b+64)
		default:
			out = append(out, b)
		}
	}
	return out
}

// ascii writes characters beyond ASCII as references.
func ascii(html string) string {
	var b strings.Builder
	for _, c := range html {
		if c < 0x80 {
			b.WriteRune(c)
		} else {
			b.WriteString("&#" + strconv.Itoa(int(c)) + ";")
		}
	}
	return b.String()
}
