package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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

// Cut reports whether the context ended a read: the command was interrupted.
func (i *Input) Cut() bool { return i.cut.Load() }

// Terminal reports whether somebody can be asked.
func (i *Input) Terminal() bool {
	f, ok := i.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress draws one line on a terminal and nothing elsewhere.
type progress struct {
	mu      sync.Mutex
	out     *os.File // nil: silent
	stage   string
	started time.Time
	drawn   time.Time
	width   int // of the line on the screen
	noted   string
}

// NewProgress returns a progress line on stderr if that is a terminal and
// --quiet was not given.
func NewProgress(g *Globals) *progress {
	f, ok := g.Stderr.(*os.File)
	if g.Quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{out: f}
}

const barWidth = 24

// Update shows that done of total is reached in a stage. It is safe for
// concurrent use and draws at most ten times a second.
func (p *progress) Update(stage string, done, total int) {
	if p.out == nil || total <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if stage != p.stage {
		p.stage, p.started = stage, now
	} else if done < total && now.Sub(p.drawn) < 100*time.Millisecond {
		return
	}
	p.drawn = now
	filled := barWidth * done / total
	line := fmt.Sprintf("%-28s %s%s %3d %%", stage, strings.Repeat("━", filled), strings.Repeat("╌", barWidth-filled), 100*done/total)
	if spent := now.Sub(p.started); done > 0 && done < total && spent > 2*time.Second {
		left := time.Duration(float64(spent) * float64(total-done) / float64(done))
		line += fmt.Sprintf("  %s left", left.Round(time.Second))
	}
	if p.noted != "" {
		line += "  " + p.noted
	}
	p.draw(line)
}

// Note sets the end of the line, from the next update on.
func (p *progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noted = text
}

func (p *progress) Clear() {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		p.draw("")
		fmt.Fprint(p.out, "\r")
	}
}

func (p *progress) draw(line string) {
	n := len([]rune(line))
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-n)))
	p.width = n
}
