package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

func TestAuditExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		code int
	}{
		"shipped": {"audit --suite lnmax --samples 100 --seed 1", shell.ExitDone},
		"broken":  {"audit --broken svt-no-query-noise --seed 1", shell.ExitCheckFailed},
		"unknown": {"audit --suite magic", shell.ExitUsage},
		"nothing": {"audit --suite=", shell.ExitUsage},
		"samples": {"audit --samples -1", shell.ExitUsage},
		"alpha":   {"audit --alpha 1", shell.ExitUsage},
		"list":    {"audit --list", shell.ExitDone},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, c.code, run(context.Background(), strings.Fields(c.args), strings.NewReader(""), &out, &errs), "%s%s", &out, &errs)
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, shell.ExitInterrupted, run(ctx, []string{"audit"}, strings.NewReader(""), &out, &errs))
	require.Empty(t, out.String())
}
