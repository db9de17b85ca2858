package shell

import (
	"context"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

// Input is the standard input of a command. A read ends with the context: a terminal or a
// pipe that is silent would hold a command that Ctrl-C has ended.
type Input struct {
	ctx context.Context
	in  io.Reader
	own []byte // of the reader below, which may still write to it when a read has ended
	cut atomic.Bool
}

// NewInput returns in as the input of a command that ends with ctx.
func NewInput(ctx context.Context, in io.Reader) *Input { return &Input{ctx: ctx, in: in} }

// Read reads, or returns the error of the context as soon as there is one.
func (i *Input) Read(p []byte) (int, error) {
	if i.cut.Load() {
		return 0, i.ctx.Err()
	}
	if cap(i.own) < len(p) {
		i.own = make([]byte, len(p))
	}
	type outcome struct {
		n   int
		err error
	}
	own, done := i.own[:len(p)], make(chan outcome, 1)
	go func() {
		n, err := i.in.Read(own)
		done <- outcome{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-i.ctx.Done():
		i.cut.Store(true)
		return 0, i.ctx.Err()
	}
}

// Cut reports whether the context ended a read: whatever the command made of it, it was
// interrupted.
func (i *Input) Cut() bool { return i.cut.Load() }

// Terminal reports whether somebody can be asked.
func (i *Input) Terminal() bool {
	f, ok := i.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
