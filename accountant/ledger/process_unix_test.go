//go:build unix

package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

func cramped(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 4321, Max: 4321}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	err := greedy(path)
	if errors.Is(err, ledger.ErrBroken) && errors.Is(err, syscall.EFBIG) {
		fmt.Println("full")
		return nil
	}
	return fmt.Errorf("wanted a full disk: %w", err)
}

func TestADiskThatFillsUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	var out bytes.Buffer
	cmd := process(t, "cramped", path)
	cmd.Stdout = &out
	require.NoError(t, cmd.Run())
	released := strings.Fields(out.String())
	require.Equal(t, "full", released[len(released)-1])
	released = released[:len(released)-1]
	require.Greater(t, len(released), 3)
	f := testkit.Must(os.Open(path))
	defer f.Close()
	s := testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
	require.Empty(t, s.Torn, "half a line was taken back")
	require.EqualValues(t, len(released), s.Commits)
	require.GreaterOrEqual(t, s.Entries, s.Commits)
}
