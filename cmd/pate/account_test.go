package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// execute runs one command line in this process.
func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// What calibrate returns, account confirms to the digit, by the accountant that claimed it.
func TestCalibrationIsConfirmedByAccount(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 2, 8} {
		code, stdout, stderr := execute(t, "", "calibrate", "dpsgd", "--probability", "0.0043", "--steps", "14000",
			"--epsilon", fmt.Sprint(epsilon), "--delta", "1e-5", "--format", "json")
		require.Equal(t, shell.ExitDone, code, stderr)
		var noise struct {
			Noise, Epsilon float64
			Accountant     string
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &noise))
		assert.Equal(t, "pld", noise.Accountant)
		assert.LessOrEqual(t, noise.Epsilon, epsilon)
		assert.Greater(t, noise.Epsilon, epsilon*(1-1e-4), "grids of losses jump a little with the noise")
		code, stdout, stderr = execute(t, fmt.Sprintf(`{"relation":"add_remove","events":[{"type":"repeated","count":14000,"event":
			{"type":"poisson_sampled","probability":0.0043,"event":{"type":"gaussian","noise_multiplier":%v}}}]}`, noise.Noise),
			"account", "-", "--format", "json", "--accountant", noise.Accountant)
		require.Equal(t, shell.ExitDone, code, stderr)
		var account struct{ Results []struct{ Epsilon float64 } }
		require.NoError(t, json.Unmarshal([]byte(stdout), &account))
		assert.Equal(t, noise.Epsilon, account.Results[0].Epsilon)
	}
}
