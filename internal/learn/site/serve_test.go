package site

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServed: the page and its questions, for the right host alone.
func TestServed(t *testing.T) {
	h, err := Handler("127.0.0.1:1")
	require.NoError(t, err)
	ask := func(method, path, host, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := ask("GET", "/", "127.0.0.1:1", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, w.Body.String(), "Noisy argmax")
	require.Contains(t, w.Body.String(), "<noscript><style>.knobs,", "what only JavaScript turns is not shown without it")
	w = ask("POST", "/call", "127.0.0.1:1", `{"ask":"draw","chapter":"noisy-argmax","situation":{"noise":"20"}}`)
	require.Contains(t, w.Body.String(), `"charge of one answer"`)
	require.Equal(t, http.StatusForbidden, ask("GET", "/", "pate.example", "").Code, "a name that points here")
	require.Equal(t, http.StatusNotFound, ask("GET", "/other", "127.0.0.1:1", "").Code)
	require.Equal(t, http.StatusMethodNotAllowed, ask("GET", "/call", "127.0.0.1:1", "").Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, ask("POST", "/call", "127.0.0.1:1", strings.Repeat("x", maxRequest+1)).Code)
	w = ask("POST", "/call", "127.0.0.1:1", `{"ask":"draw","chapter":"noisy-argmax","situation":{"noise":"NaN"}}`)
	require.Contains(t, w.Body.String(), `"error"`)
}
