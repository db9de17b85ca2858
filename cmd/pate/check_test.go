package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// TestExitCodesOfCheck: 5 says that votes were read and something is wrong with
// them, 3 that they could not be read.
func TestExitCodesOfCheck(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	votes, ragged := file("votes.csv", "0,1\n1,1\n0,0\n"), file("ragged.csv", "0,1\n1\n0,0\n")
	const head = `{"schema":"pate.manifest/1","unit":"record","salt_id":"0123456789abcdef","silos":[{"name":"`
	a := file("a.json", head+`a","units":["00000000000000000000000000000001"]}]}`)
	b := file("b.json", head+`b","units":["00000000000000000000000000000001","00000000000000000000000000000002"]}]}`)
	c := file("c.json", head+`c","units":["00000000000000000000000000000003"]}]}`)
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"sound":            {[]string{votes, "--classes", "2"}, shell.ExitDone},
		"disjoint":         {[]string{votes, "--classes", "2", "--manifest", b, "--manifest", c}, shell.ExitDone},
		"overlap":          {[]string{votes, "--classes", "2", "--manifest", a, "--manifest", b}, shell.ExitCheckFailed},
		"out of range":     {[]string{file("range.csv", "0,1\n1,2\n0,0\n"), "--classes", "2"}, shell.ExitCheckFailed},
		"NaN":              {[]string{file("nan.csv", "0,1\n1,nan\n0,0\n"), "--classes", "2"}, shell.ExitCheckFailed},
		"ragged":           {[]string{ragged, "--classes", "2"}, shell.ExitInvalidInput},
		"missing":          {[]string{filepath.Join(dir, "none"), "--classes", "2"}, shell.ExitInvalidInput},
		"foreign manifest": {[]string{"--manifest", votes}, shell.ExitInvalidInput},
		"no classes":       {[]string{votes}, shell.ExitUsage},
		"bad flag":         {[]string{votes, "--classes", "2", "--header", "x"}, shell.ExitUsage},
		"no salt":          {[]string{"hash-ids", votes, "--silo", "a", "--salt", filepath.Join(dir, "none")}, shell.ExitInvalidInput},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(context.Background(), append([]string{"check", "--quiet"}, tc.args...), strings.NewReader(""), &out, &errs)
			require.Equal(t, tc.code, code, "%s%s", &out, &errs)
			require.LessOrEqual(t, strings.Count(errs.String(), "\n"), 4, "%s", &errs)
			if code == shell.ExitInvalidInput || code == shell.ExitUsage {
				require.Empty(t, out.String())
			}
		})
	}
}
