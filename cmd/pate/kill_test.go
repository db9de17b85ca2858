package main

import (
	"math/rand/v2"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// process returns the command as a process of its own, which is the binary of these tests:
// TestMain has put it into PATH under this name.
func process(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("pate", args...)
	cmd.Dir = dir
	return cmd
}

// ends runs a process to its end and returns how long it took.
func ends(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return time.Since(began)
}

// killEach kills processes at moments of chance within the time that a whole one takes, until
// so many were killed before their end, and calls after behind each of them. Every process
// that ends by itself halves the time for the next: that of a process which goes on with
// another's work, or of a machine that has become faster, is not known before. So the number
// is reached on every machine, in the end by kills right after the start.
func killEach(t *testing.T, number int, whole time.Duration, rnd *rand.Rand, start func(killed int) *exec.Cmd, after func()) {
	t.Helper()
	for killed := 0; killed < number; {
		cmd := start(killed)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rnd.Float64() * float64(whole)))
		require.NoError(t, cmd.Process.Kill()) // no error either if it has just ended by itself
		if err := cmd.Wait(); err == nil {
			whole /= 2
		} else {
			if runtime.GOOS != "windows" { // where a killed process has code 1
				require.Equal(t, -1, cmd.ProcessState.ExitCode(), "it failed before it was killed")
			}
			killed++
		}
		after()
	}
}

// TestKilledReleases kills processes of every command, at moments of chance.
func TestKilledReleases(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 7))
	for _, c := range releasingCommands() {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			took := ends(t, process("", c.args(0)...))
			for n := 1; n < 3; n++ {
				var left map[string]string
				killEach(t, 3, took, rnd, func(int) *exec.Cmd { return process("", c.args(n)...) }, func() {
					now := files(t, c.out(n))
					for path, text := range left {
						require.Equal(t, text, now[path], "what had its name before")
					}
					if left = now; len(left) > 0 {
						_, commits := verifyLedgers(t, c.book(n))
						require.Positive(t, commits)
					}
				})
				code, said := command(t.Context(), c.args(n))
				require.Equal(t, shell.ExitDone, code, said)
				for path, text := range left {
					require.Equal(t, text, files(t, c.out(n))[path])
				}
				entries, commits := verifyLedgers(t, c.book(n))
				require.Equal(t, entries, commits)
				noLitter(t)
			}
		})
	}
}
