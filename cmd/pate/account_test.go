package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// execute runs one command line in this process.
func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestAccountExitCodes(t *testing.T) {
	const events = `{"relation":"add_remove","events":[{"type":"gnmax","sigma":40}]}`
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"done":               {events, []string{"account", "-"}, exitDone},
		"no file named":      {events, []string{"account"}, exitUsage},
		"unknown flag":       {events, []string{"account", "-", "--sigma", "1"}, exitUsage},
		"unknown accountant": {events, []string{"account", "-", "--accountant", "prv"}, exitUsage},
		"bad orders":         {events, []string{"account", "-", "--orders", "0.5"}, exitUsage},
		"broken JSON":        {"{", []string{"account", "-"}, exitInvalidInput},
		"unknown event":      {`{"relation":"add_remove","events":[{"type":"x"}]}`, []string{"account", "-"}, exitInvalidInput},
		"no such file":       {"", []string{"account", "no-such-file.json"}, exitInvalidInput},
		"calibrate what":     {"", []string{"calibrate"}, exitUsage},
		"calibrate unknown":  {"", []string{"calibrate", "x"}, exitUsage},
		"calibrate no steps": {"", []string{"calibrate", "dpsgd", "--probability", "0.1", "--epsilon", "1"}, exitUsage},
		"out of reach":       {"", []string{"calibrate", "gnmax", "--queries", "5", "--epsilon", "1e300"}, exitInvalidInput},
	} {
		code, stdout, stderr := execute(t, c.stdin, c.args...)
		assert.Equal(t, c.code, code, "%s: %s", name, stderr)
		assert.Equal(t, code != exitDone, stdout == "", "%s: stdout has data or nothing", name)
	}
}

// What calibrate returns, account confirms.
func TestCalibrationIsConfirmedByAccount(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 2, 8} {
		code, stdout, stderr := execute(t, "", "calibrate", "dpsgd", "--probability", "0.0043", "--steps", "14000",
			"--epsilon", fmt.Sprint(epsilon), "--delta", "1e-5", "--format", "json")
		require.Equal(t, exitDone, code, stderr)
		var noise struct{ Noise, Epsilon float64 }
		require.NoError(t, json.Unmarshal([]byte(stdout), &noise))
		assert.LessOrEqual(t, noise.Epsilon, epsilon)
		assert.Greater(t, noise.Epsilon, epsilon*(1-1e-6))
		code, stdout, stderr = execute(t, fmt.Sprintf(`{"relation":"add_remove","events":[{"type":"repeated","count":14000,"event":
			{"type":"poisson_sampled","probability":0.0043,"event":{"type":"gaussian","noise_multiplier":%v}}}]}`, noise.Noise),
			"account", "-", "--format", "json")
		require.Equal(t, exitDone, code, stderr)
		var account struct{ Results []struct{ Epsilon float64 } }
		require.NoError(t, json.Unmarshal([]byte(stdout), &account))
		assert.Equal(t, noise.Epsilon, account.Results[0].Epsilon)
	}
}

func TestFormatUp(t *testing.T) {
	for x, want := range map[float64]string{
		1.03538400: "1.0354", 1.03541: "1.0355", 0: "0", 1e-5: "1e-05", 9.99999: "10", 99999.5: "1e+05",
		math.Inf(1): "inf", 1.234511e-7: "1.2346e-07", 17: "17",
	} {
		assert.Equal(t, want, formatUp(x, false))
	}
	assert.Equal(t, "1.03541", formatUp(1.03541, true))
	above := math.Nextafter(0.0265, 1)
	assert.Equal(t, "0.0266", formatEpsilon(above, false), "%v is more than 0.0265", above)
	for x, want := range map[float64]string{1.03546: "1.0354", 1.0354: "1.0354", 0.94639999: "0.94639", math.Inf(1): "Inf"} {
		assert.Equal(t, want, formatDown(x))
	}
}
