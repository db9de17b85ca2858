package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuditExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		code int
	}{
		"shipped": {"audit --suite lnmax --samples 100 --seed 1", exitDone},
		"broken":  {"audit --broken svt-no-query-noise --seed 1", exitCheckFailed},
		"unknown": {"audit --suite magic", exitUsage},
		"nothing": {"audit --suite=", exitUsage},
		"samples": {"audit --samples -1", exitUsage},
		"alpha":   {"audit --alpha 1", exitUsage},
		"list":    {"audit --list", exitDone},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, c.code, run(context.Background(), strings.Fields(c.args), strings.NewReader(""), &out, &errs), "%s%s", &out, &errs)
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	require.Equal(t, exitInterrupted, run(ctx, []string{"audit"}, strings.NewReader(""), &out, &errs))
	require.Empty(t, out.String())
}
