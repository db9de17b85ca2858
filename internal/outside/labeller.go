package outside

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Labeller answers one input. A labeller that fails returns an Answer with a Failure. An error means that the
// audit itself failed.
type Labeller func(ctx context.Context, in Input) (Answer, error)

// Input holds the file for a labeller and, if the file is a table, questions.
type Input struct{ Data, Questions []byte }

// Answer is the output of one run.
type Answer struct {
	Failure string // "exit 3", "timeout", ...; "" for success
	Text    []byte
	Stderr  string // for messages only
}

const largest = 16 << 20 // bytes of an answer that are read

// Command returns a labeller that starts a program, without a shell, for every run. Spaces separate the words
// of line. A word with spaces needs double quotes. In arguments, {in}, {questions} and {out} are the paths of
// files, and {dir} is the run's folder. This folder is deleted after the run. Without {in} the program reads
// from standard input. Without {out} the answer is its standard output. The environment passes no secret: it
// has only PATH, and HOME and TMPDIR for the run's folder.
func Command(line string, timeout time.Duration) (Labeller, error) {
	split := csv.NewReader(strings.NewReader(line))
	split.Comma = ' '
	words, err := split.Read()
	if words = slices.DeleteFunc(words, func(w string) bool { return w == "" }); err != nil || len(words) == 0 {
		return nil, errors.Join(err, errors.New("is not one line of words"))
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, in Input) (a Answer, err error) {
		dir, err := os.MkdirTemp("", "pate-audit-")
		if err != nil {
			return a, err
		}
		defer os.RemoveAll(dir)
		data, questions, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "questions.csv"), filepath.Join(dir, "out.csv")
		if err := errors.Join(os.WriteFile(data, in.Data, 0o600), os.WriteFile(questions, in.Questions, 0o600)); err != nil {
			return a, err
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		cmd := exec.CommandContext(limited, program)
		places := strings.NewReplacer("{in}", data, "{questions}", questions, "{out}", out, "{dir}", dir)
		for _, w := range words[1:] {
			cmd.Args = append(cmd.Args, places.Replace(w))
		}
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
		endTogether(cmd)
		cmd.WaitDelay = time.Second // for children of the program that keep its pipes open
		stdout, stderr := bounded{left: largest}, bounded{left: 4096}
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if !strings.Contains(line, "{in}") {
			cmd.Stdin = bytes.NewReader(in.Data)
		}
		err = cmd.Run()
		a = Answer{Text: stdout.Bytes(), Stderr: stderr.String()}
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return a, ctx.Err()
		case limited.Err() != nil:
			a.Failure = "timeout"
		case errors.As(err, &exit):
			a.Failure = fmt.Sprintf("exit %d", exit.ExitCode()) // -1 for a signal
		case err != nil && !errors.Is(err, exec.ErrWaitDelay):
			return a, err
		case strings.Contains(line, "{out}"):
			if a.Text, err = contents(out); err != nil {
				a.Failure = "no file {out}"
			}
		}
		return a, nil
	}, nil
}

func contents(name string) ([]byte, error) {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() { // a link or a pipe may lead anywhere
		return nil, errors.Join(err, errors.New("is no file"))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, largest))
}

type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	kept, _ := b.Buffer.Write(p[:min(len(p), b.left)])
	b.left -= kept
	return len(p), nil
}

// URL returns a labeller that posts the Data of each input to address and reads the body of the response.
// Every status except 200 is a failure. Redirects are not followed. Data may be secret, so http is refused
// for other machines.
func URL(address string, timeout time.Duration) (Labeller, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(u.Hostname())
	if local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback(); u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return nil, errors.New("must begin with https://, or with http:// for an address of this machine")
	}
	client := &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, in Input) (a Answer, err error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(in.Data))
		if err != nil {
			return a, err
		}
		request.Header.Set("Content-Type", "text/csv")
		response, err := client.Do(request)
		if err == nil {
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				a.Failure = response.Status
			}
			a.Text, err = io.ReadAll(io.LimitReader(response.Body, largest))
		}
		var slow net.Error
		switch {
		case ctx.Err() != nil:
			return a, ctx.Err()
		case errors.As(err, &slow) && slow.Timeout():
			a = Answer{Failure: "timeout"}
		case err != nil:
			a = Answer{Failure: "no response", Stderr: err.Error()}
		}
		return a, nil
	}, nil
}
