package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
)

type getFlags struct {
	from   string
	sha256 string
}

func newGet(g *shell.Globals) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Put a set where --data finds it",
		Long: `Put the files of a data set into $PATE_DATA, where --data finds them by its name.
They are copied from --from: a file, a folder, or an address (http, https) of a file
or, with / at its end, of a folder; each plain or .gz. Without --from they must be
there already, or where a package installs them.

Every file is compared with the SHA-256 that was recorded for it, as it is
unpacked, and gets its name only if it is right. --sha256 compares the one file that
--from names as it lies there, too. What is there and right already is not fetched
again, so an interrupted command goes on when it is repeated.`,
		Example: `  pate data get adult --from ~/Downloads/adult.data
  pate data get fashion-mnist --from https://example.org/fashion/`,
		Args: shell.Wants(cobra.ExactArgs(1), nil),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), g, args[0]) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", "a file, a folder, or an address of one")
	cmd.Flags().StringVar(&f.sha256, "sha256", "", "the SHA-256 of the file that --from names, in hexadecimal")
	shell.Complete(cmd, map[string]shell.Values{"from": shell.Files(), "sha256": shell.Anything()})
	shell.CompleteArgs(cmd, shell.Words(dataset.Names()...))
	return cmd
}

func (f *getFlags) run(ctx context.Context, g *shell.Globals, name string) error {
	known, err := knownSet(name)
	if err != nil {
		return err
	}
	f.sha256 = strings.ToLower(strings.TrimSpace(f.sha256))
	if f.sha256 != "" && (f.from == "" || len(f.sha256) != 64 || strings.Trim(f.sha256, "0123456789abcdef") != "") {
		return shell.UsageError("data", fmt.Errorf("--sha256 %q: must be 64 hexadecimal digits, of the file that --from names", f.sha256))
	}
	if len(known.Files) == 0 {
		g.Logf("%s is embedded in the program: there is nothing to get", name)
		return list(g, false)
	}
	if f.sha256 != "" && len(known.Files) > 1 {
		return shell.UsageError("data", fmt.Errorf("--sha256 is of one file, and %s has %d, whose hashes are recorded", name, len(known.Files)))
	}
	for _, file := range known.Files {
		if err := f.get(ctx, g, known, file); err != nil {
			return shell.FaultError(err, "data")
		}
	}
	return list(g, false, name)
}

func knownSet(name string) (dataset.Known, error) {
	for _, k := range dataset.KnownSets() {
		if k.Name == name {
			return k, nil
		}
	}
	return dataset.Known{}, shell.UsageError("data", fmt.Errorf("%q is no known data set; known are %s", name, strings.Join(dataset.Names(), ", ")))
}

// get puts one file in its place, unless it is there.
func (f *getFlags) get(ctx context.Context, g *shell.Globals, k dataset.Known, file dataset.KnownFile) error {
	there, err := k.Find(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		switch sum, err := dataset.SumOf(there); {
		case err == nil && sum == file.SHA256:
			g.Logf("%s is there, and whole", there)
			return nil
		case f.from == "":
			return &fault.Error{File: there, What: "is not the file that was recorded", Why: "its SHA-256 differs, or it cannot be read", Fix: "replace it: pate data get " + k.Name + " --from FILE", Check: true, Err: err}
		}
	}
	if f.from == "" {
		return &fault.Error{File: k.Name, What: "is not on this machine", Fix: k.Install + "; or name a file, a folder or an address with --from", Err: fs.ErrNotExist}
	}
	if _, err := k.Target(file); err != nil {
		return err
	}
	source, where, err := f.open(ctx, k, file)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	defer source.Close()
	placed, err := k.InstallFile(file, source, where, f.sha256)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	g.Logf("%s, from %s", placed, where)
	return nil
}

// open opens where a file comes from, and says where that is.
func (f *getFlags) open(ctx context.Context, k dataset.Known, file dataset.KnownFile) (io.ReadCloser, string, error) {
	if u, err := url.Parse(f.from); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return fetch(ctx, u, k, file)
	}
	info, err := os.Stat(f.from)
	if err != nil {
		return nil, "", &fault.Error{File: f.from, What: "cannot be read", Err: err, Fix: "name a file, a folder, or an address that begins with https://"}
	}
	names := []string{f.from}
	if info.IsDir() {
		names = nil
		for _, name := range []string{filepath.Base(file.Path), file.Path} {
			names = append(names, filepath.Join(f.from, name), filepath.Join(f.from, name)+".gz")
		}
	} else if len(k.Files) > 1 {
		return nil, "", &fault.Error{File: f.from, What: "is one file", Why: fmt.Sprintf("%s has %d", k.Name, len(k.Files)), Fix: "name the folder that holds them all"}
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is no regular file")
		}
		var opened *os.File
		if err == nil {
			opened, err = os.Open(name)
		}
		if err != nil {
			return nil, "", &fault.Error{File: name, What: "cannot be read", Err: err}
		}
		return opened, name, nil
	}
	return nil, "", &fault.Error{File: f.from, What: "has no file " + filepath.Base(file.Path) + ", plain or .gz", Fix: "name the folder that has it", Err: fs.ErrNotExist}
}

// patience is how long an address may take to begin its answer, and between two parts of it.
const patience = time.Minute

// fetch asks an address for a file; of a folder for the plain file, then for .gz.
func fetch(ctx context.Context, u *url.URL, k dataset.Known, file dataset.KnownFile) (io.ReadCloser, string, error) {
	folder := strings.HasSuffix(u.Path, "/")
	if !folder && len(k.Files) > 1 {
		return nil, "", &fault.Error{File: u.Redacted(), What: "is the address of one file", Why: fmt.Sprintf("%s has %d", k.Name, len(k.Files)), Fix: "give that of their folder, with / at its end"}
	}
	addresses := []*url.URL{u}
	if folder {
		plain, packed := *u, *u
		plain.Path = path.Join(u.Path, filepath.Base(file.Path))
		packed.Path = plain.Path + ".gz"
		addresses = []*url.URL{&plain, &packed}
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: patience, TLSHandshakeTimeout: patience}}
	var last string
	for _, a := range addresses {
		ctx, cancel := context.WithCancel(ctx)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.String(), nil)
		var answer *http.Response
		if err == nil {
			answer, err = client.Do(request)
		}
		if err != nil {
			cancel()
			var told *url.Error
			if errors.As(err, &told) {
				err = told.Err // it has the address, with its password
			}
			return nil, "", &fault.Error{File: a.Redacted(), What: "cannot be reached", Err: err,
				Fix: "without a network, --from names a file or a folder; or " + k.Install}
		}
		if answer.StatusCode == http.StatusOK {
			return &body{answer.Body, cancel, time.AfterFunc(patience, cancel)}, a.Redacted(), nil
		}
		answer.Body.Close()
		cancel()
		last = answer.Status
		if answer.StatusCode != http.StatusNotFound {
			break
		}
	}
	return nil, "", &fault.Error{File: u.Redacted(), What: "answers " + last, Fix: "check the address; or " + k.Install}
}

// body is an answer that must not pause for longer than patience.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
	timer  *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(patience)
	return b.ReadCloser.Read(p)
}

func (b *body) Close() error {
	b.timer.Stop()
	b.cancel()
	return b.ReadCloser.Close()
}
