package law

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func TestEveryTextIsShown(t *testing.T) {
	shown := map[string]string{}
	for _, page := range lawPages() {
		shown[page.Name+".txt"] = page.long
	}
	files := testkit.Must(texts.ReadDir("text"))
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NotEmpty(t, shown[f.Name()], "%s belongs to no law", f.Name())
		require.True(t, strings.HasPrefix(string(testkit.Must(texts.ReadFile("text/"+f.Name()))), shown[f.Name()]), f.Name())
	}
}
