package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/online"
)

const mostBytes = 1 << 20

const mostTogether = 1 << 12

var errLong = errors.New("the request is longer than 1 MiB")

type asked struct {
	question *online.Question
	err      error
}

func replies(ctx context.Context, b []byte, f *online.Format, e *online.Engine, all []asked) (text []byte, first online.Reply, err error) {
	var valid []*online.Question
	for _, a := range all {
		if a.err == nil {
			valid = append(valid, a.question)
		}
	}
	var got []online.Reply
	for part := range slices.Chunk(valid, mostTogether) {
		more, err := e.Ask(ctx, part)
		if err != nil {
			return b, first, err // the parts before are on disk, and get the same answers again
		}
		got = append(got, more...)
	}
	for i, a := range all {
		reply := online.Reply{Err: a.err}
		if a.err == nil {
			reply, got = got[0], got[1:]
		}
		if i == 0 {
			first = reply
		}
		b = append(f.Append(b, a.question, reply), '\n')
	}
	return b, first, nil
}

func lines(ctx context.Context, cmd *cobra.Command, args []string, f *online.Format, e *online.Engine) error {
	in := cmd.InOrStdin()
	if len(args) > 0 && args[0] != "-" {
		file, err := durable.OpenRegular(args[0])
		if err != nil {
			return shell.InputError(err, "the file has the requests", "check its name", "serve")
		}
		defer file.Close()
		in = file
	}
	r := bufio.NewReaderSize(in, mostBytes)
	var out []byte
	for ended := false; !ended; {
		var all []asked
		for more := true; more && !ended; {
			line, err := r.ReadSlice('\n')
			switch {
			case err == bufio.ErrBufferFull:
				all = append(all, asked{f.None(), errLong})
				for err == bufio.ErrBufferFull {
					_, err = r.ReadSlice('\n')
				}
			case len(bytes.TrimSpace(line)) > 0 && (err == nil || err == io.EOF):
				q, wrong := f.Parse(line)
				all = append(all, asked{q, wrong})
			}
			if err != nil && err != io.EOF && ctx.Err() == nil {
				return err
			}
			ended = err != nil
			waiting, _ := r.Peek(r.Buffered())
			more = bytes.IndexByte(waiting, '\n') >= 0
		}
		var err error
		if out, _, err = replies(context.WithoutCancel(ctx), out[:0], f, e, all); err != nil {
			return err
		}
		if _, err := cmd.OutOrStdout().Write(out); err != nil {
			return err
		}
	}
	return nil
}
