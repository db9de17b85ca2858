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

func TestFormatUp(t *testing.T) {
	for x, want := range map[float64]string{
		1.03538400: "1.0354", 1.03541: "1.0355", 0: "0", 1e-5: "1e-05", 9.99999: "10", 99999.5: "1e+05",
		math.Inf(1): "inf", 1.234511e-7: "1.2346e-07", 17: "17",
	} {
		assert.Equal(t, want, shell.FormatUp(x, false))
	}
	assert.Equal(t, "1.03541", shell.FormatUp(1.03541, true))
	above := math.Nextafter(0.0265, 1)
	assert.Equal(t, "0.0266", shell.FormatEpsilon(above, false), "%v is more than 0.0265", above)
	for x, want := range map[float64]string{1.03546: "1.0354", 1.0354: "1.0354", 0.94639999: "0.94639", math.Inf(1): "Inf"} {
		assert.Equal(t, want, shell.FormatDown(x))
	}
}
