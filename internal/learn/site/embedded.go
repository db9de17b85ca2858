//go:build course

package site

import _ "embed"

//go:embed course.wasm.gz
var packed []byte

//go:embed wasm_exec.js
var glue []byte

var embedded = Program{Packed: packed, Glue: glue}
