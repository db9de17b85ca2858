package statement_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

// schemaErrors returns where a value breaks a schema, for the keywords that the registry's schema uses.
func schemaErrors(schema map[string]any, value any, at string) (wrong []string) {
	kinds := map[string]bool{}
	switch kind := schema["type"].(type) {
	case string:
		kinds[kind] = true
	case []any:
		for _, k := range kind {
			kinds[k.(string)] = true
		}
	}
	is := map[bool]string{}
	switch value.(type) {
	case map[string]any:
		is[true] = "object"
	case []any:
		is[true] = "array"
	case string:
		is[true] = "string"
	case int:
		is[true] = "integer"
	case float64:
		is[true] = "number"
	}
	if len(kinds) > 0 && !kinds[is[true]] && !(is[true] == "integer" && kinds["number"]) {
		return []string{fmt.Sprintf("%s: %v has the wrong type", at, value)}
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, value) {
		wrong = append(wrong, fmt.Sprintf("%s: %v is not one of %v", at, value, values))
	}
	properties, _ := schema["properties"].(map[string]any)
	object, _ := value.(map[string]any)
	for key, inner := range object {
		property, known := properties[key].(map[string]any)
		if !known {
			wrong = append(wrong, at+"."+key+" is unknown")
		}
		wrong = append(wrong, schemaErrors(property, inner, at+"."+key)...)
	}
	required, _ := schema["required"].([]any)
	for _, key := range required {
		if _, has := object[key.(string)]; !has {
			wrong = append(wrong, at+"."+key.(string)+" is missing")
		}
	}
	return wrong
}

// TestTheRegistryAcceptsEntries writes the entries of twenty ledgers, at tier 2 without any fact from the owner
// and at tier 3 with six sentences.
func TestTheRegistryAcceptsEntries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "registry", "deployments-schema.yaml"))
	if err != nil {
		t.Skipf("the schema of the registry is not on this machine: %v", err)
	}
	var schema map[string]any
	require.NoError(t, yaml.Unmarshal(text, &schema))
	require.NotEmpty(t, schemaErrors(schema, map[string]any{"tier": 4}, ""), "the validator finds nothing")
	about := testkit.Must(statement.ParseAbout([]byte(`{"data_set": "Visits: 2019 \"to\" 2024\\\\", "controller": "# St. Mary's", "date": "2026-03-01", "purpose": "Triage.",
		"region": "EU", "actors": "The hospital alone.", "plans": "None.", "tuning": "None.", "justification": "Odds at most double.", "releases": "one"}`)))
	relations, units := []accountant.Relation{accountant.AddRemove, accountant.ReplaceOne}, []string{"patient", "<id>: 'x' | #", "- y\t", "é", "1"}
	events := []accountant.Event{votes, sgd, accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: 60, Sensitivity: 1}, Count: 5}}
	for i := range 20 {
		cfg := ledger.Config{Unit: units[i%5], Relation: relations[i%2], Epsilon: 3, Delta: math.Pow10(-2 - i), Noise: ledger.SecretNoise}
		switch i % 3 {
		case 0:
			cfg.Mode = ledger.Filter
		case 1:
			cfg.Relation = accountant.AddRemove
		}
		s := state(t, cfg, charge(t, true, events[i%3]))
		for tier, facts := range map[int]*statement.About{2: nil, 3: &about} {
			if tier == 3 && i >= 6 {
				continue
			}
			s.About = facts
			require.Equal(t, tier == 3, len(s.MissingForTier3()) == 0)
			var b bytes.Buffer
			require.NoError(t, s.WriteRegistry(&b))
			var entry map[string]any
			require.NoError(t, yaml.Unmarshal(b.Bytes(), &entry), b.String())
			require.Empty(t, schemaErrors(schema, entry, ""), b.String())
			require.Equal(t, tier, entry["tier"])
			require.Regexp(t, `^[a-z0-9_]+$`, entry["url_slug"])
			loss := entry["deployment"].(map[string]any)["privacy_loss"].(map[string]any)
			require.Equal(t, cfg.Delta, loss["privacy_parameters"].(map[string]any)["delta"])
			epsilon := testkit.Must(strconv.ParseFloat(fmt.Sprint(loss["privacy_parameters"].(map[string]any)["epsilon"]), 64))
			require.GreaterOrEqual(t, epsilon, float64(*s.Claims[0].Epsilon))
			require.Less(t, epsilon, float64(*s.Claims[0].Epsilon)+1e-4)
			kind := entry["deployment"].(map[string]any)["basic"].(map[string]any)["data_product_type"]
			require.Equal(t, i%3 == 1, kind == "Machine learning model")
			text, _, _ := strings.Cut(b.String(), "\n#   {") // the registry reads no comments
			require.NotContains(t, text, `\\\\`)
			require.NotContains(t, b.String(), ">-", "the registry refuses folded text")
		}
	}
}

func TestOnlyReleasesAreRegistered(t *testing.T) {
	seeded, unknown := config, config
	seeded.Noise, unknown.Noise = ledger.SeededNoise, ""
	for why, s := range map[string]*statement.Statement{
		"NOT FOR RELEASE":      state(t, seeded, charge(t, true, votes)),
		"does not record":      state(t, unknown, charge(t, true, votes)),
		"no committed outcome": state(t, config, charge(t, false, votes)),
	} {
		var b strings.Builder
		err := s.WriteRegistry(&b)
		var refused *fault.Error
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, err, why)
		require.Empty(t, b.String())
	}
}

// TestFactsStandInEveryFormat gives a statement facts beside its ledger: all formats have them, a page is the same
// when it is written again from the ledger and its own record, and audits must be about mechanisms of the ledger.
func TestFactsStandInEveryFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	charge(t, true, votes)(l)
	require.NoError(t, l.Close())
	const audit = `[{"target": "gnmax", "method": "runs", "epsilon": 2.5, "delta": 0.01, "epsilon_lower": 0.75},
		{"target": "dpsgd", "method": "canaries", "epsilon": 9.5, "delta": 0.01, "epsilon_lower": 3.25}]`
	of := func(audit string, facts statement.Facts) (*statement.Statement, error) {
		require.NoError(t, json.Unmarshal([]byte(audit), &facts.Audit))
		about := testkit.Must(statement.ParseAbout([]byte(`{"justification": "Odds at most double."}`)))
		return statement.New(statement.Options{About: &about, Facts: facts}, statement.Source{Name: "run.jsonl", Ledger: testkit.Must(os.Open(path))})
	}
	labels := fmt.Sprintf("%x", sha256.Sum256([]byte("labels")))
	whole := statement.Facts{Utility: []statement.Share{{Of: "class <b>", Rows: 8, Right: 5}}, Destroyed: "the key",
		Derived: []statement.Derived{{Name: "student.model", SHA256: labels, From: labels}}}
	s := testkit.Must(of(audit, whole))
	for name, write := range map[string]func(io.Writer) error{"html": s.WriteHTML, "md": s.WriteMarkdown, "json": s.WriteJSON, "yaml": s.WriteRegistry} {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		for _, fact := range []string{"0.75", "2.5", "62.5 %", "student.model", "the key", "Odds at most double"} {
			if name == "json" && fact == "62.5 %" {
				fact = `"right": 5`
			}
			require.Contains(t, b.String(), fact, name)
		}
		require.NotContains(t, b.String(), "3.25", "an audit of another mechanism")
		require.False(t, name == "html" && strings.Contains(b.String(), "<b>"), "text of others is escaped")
		checked := testkit.Must(statement.Check(&b, func() (io.ReadCloser, error) { return os.Open(path) }))
		require.True(t, checked.Rewritten, name)
		require.Equal(t, s.Facts, checked.Facts, name)
	}
	for wrong, why := range map[string]string{`[{"target": "dpsgd"}]`: "no result about a mechanism", `[{"target": "gnmax", "refuted": true}]`: "refutes a claim",
		`[{"epsilon": 1e9, "delta": 1e-5}]`: "no result about", `[{"epsilon": EPSILON, "delta": DELTA, "refuted": true}]`: "claim about a program"} {
		wrong = strings.NewReplacer("EPSILON", fmt.Sprint(config.Epsilon), "DELTA", fmt.Sprint(config.Delta)).Replace(wrong)
		_, err := of(wrong, statement.Facts{})
		require.ErrorContains(t, err, why)
	}
	whole.Derived[0].From = strings.Repeat("0", 64)
	_, err := of("[]", whole)
	require.ErrorContains(t, err, "no ledger entry records the release of the labels of a model")
}
