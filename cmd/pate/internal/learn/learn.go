// Package learn implements the command `pate learn`, which shows the course as a page.
package learn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/learn/page"
	"github.com/pate-go/pate/internal/learn/site"
)

type flags struct {
	export    string
	noBrowser bool
	port      int
}

func New(g *shell.Globals, below ...*cobra.Command) *cobra.Command {
	var f flags
	cmd := shell.Command("learn", "seed delta format", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if f.export != "" {
			return export(cmd.Context(), g, f.export, site.LoadProgram)
		}
		return f.serve(cmd.Context(), g)
	})
	shell.EpsilonIsNoBudget(cmd)
	shell.Declare(cmd.Flags(), "learn", shell.To{"export": &f.export, "no-browser": &f.noBrowser, "port": &f.port})
	cmd.AddCommand(below...)
	cmd.MarkFlagsMutuallyExclusive("export", "no-browser")
	cmd.MarkFlagsMutuallyExclusive("export", "port")
	return cmd
}

func export(ctx context.Context, g *shell.Globals, path string, load func(context.Context) (site.Program, error)) error {
	info, err := os.Stat(path)
	folder := err == nil && info.IsDir()
	single := !folder && (strings.EqualFold(filepath.Ext(path), ".html") || strings.EqualFold(filepath.Ext(path), ".htm"))
	if err == nil && !folder && !single {
		return shell.UsageError("", fmt.Errorf("--export %s: is a file; name a file that ends in .html, or a folder", path))
	}
	files := []string{path}
	if !single {
		files = []string{filepath.Join(path, "index.html"), filepath.Join(path, "course.js")}
		for _, c := range page.Chapters() {
			files = append(files, filepath.Join(path, c.Name+".html"))
		}
	}
	for _, file := range files {
		there, err := durable.Exists(file)
		if err == nil && there {
			err = shell.Target{Flag: "--export", Path: file}.CheckReplaceable()
		}
		if err != nil {
			return err
		}
	}
	program, err := load(ctx)
	if errors.Is(err, site.ErrNoProgram) {
		return shell.InputError(err, "an exported page draws its pictures in the browser, by a program that only releases of pate contain",
			"use pate learn without --export, a release of pate, or Go in a clone of the repository", "")
	}
	if err != nil {
		return err
	}
	if !single {
		if err := site.WriteFolder(path, program); err != nil {
			return err
		}
		g.Logf("%s: open %s", path, filepath.Join(path, "index.html"))
		return nil
	}
	page, err := site.File(program)
	if err != nil {
		return err
	}
	if err := durable.WriteBytes(path, 0o644, page); err != nil {
		return err
	}
	g.Logf("%s: %.2f MB, opens without a network", path, float64(len(page))/1e6)
	return nil
}

func (f flags) serve(ctx context.Context, g *shell.Globals) error {
	if f.port < 0 || f.port > 65535 {
		return shell.UsageError("", fmt.Errorf("--port %d: from 0 to 65535", f.port))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", f.port))
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	handler, err := site.Handler(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	address := "http://" + listener.Addr().String() + "/"
	fmt.Fprintln(g.Stdout, address)
	if !f.noBrowser {
		if err := open(ctx, address); err != nil {
			g.Logf("no browser was opened: open the address above")
		}
	}
	s := server(handler)
	stopped := context.AfterFunc(ctx, func() { _ = s.Close() }) // no work is lost
	defer stopped()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}

func server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
}

func open(ctx context.Context, address string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.CommandContext(ctx, "open", address)
	case "windows":
		cmd = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", address)
	default:
		cmd = exec.CommandContext(ctx, "xdg-open", address)
	}
	return cmd.Run()
}
