package site

import (
	"io"
	"net/http"

	"github.com/pate-go/pate/internal/learn/page"
)

// maxRequest bounds a request in bytes.
const maxRequest = 1 << 16

// Handler serves the course at "/" and answers its questions at "/call". Only requests for
// that host are answered: a name of the web that points to this machine gets nothing.
func Handler(host string) (http.Handler, error) {
	course, err := Served()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(course) // a browser that went away
	})
	mux.HandleFunc("POST /call", func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			http.Error(w, "too long", http.StatusRequestEntityTooLarge)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(page.Call(request))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host {
			http.Error(w, "this page is for "+host, http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}), nil
}
