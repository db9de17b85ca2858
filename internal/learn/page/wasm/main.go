//go:build js && wasm

// Command wasm exports [page.Call] to a browser as the function pate, with a JSON request and a JSON reply.
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
