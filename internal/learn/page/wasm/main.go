//go:build js && wasm

// Command wasm exports [page.Call] to a browser as the function pate. Request and reply are JSON.
package main

import (
	"syscall/js"

	"github.com/pate-go/pate/internal/learn/page"
)

func main() {
	js.Global().Set("pate", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(page.Call([]byte(args[0].String())))
	}))
	js.Global().Call("pateReady")
	select {}
}
