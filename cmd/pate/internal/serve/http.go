package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/online"
	"github.com/pate-go/pate/internal/tokens"
)

type httpFlags struct {
	listen, cert, key, tokens, log string
}

func (f *httpFlags) check(cmd *cobra.Command, args []string, finish bool) error {
	secured := f.cert != "" && f.tokens != ""
	host, _, err := net.SplitHostPort(f.listen)
	other := ""
	for _, name := range []string{"cert", "cert-key", "tokens", "access-log"} {
		if f.listen == "" && cmd.Flags().Changed(name) {
			other = name
		}
	}
	return shell.Refuse("serve",
		shell.If(other != "", "--%s is for a server: give --listen", other),
		shell.If(f.listen != "" && len(args) > 0, "give REQUESTS or --listen, not both"),
		shell.If(f.listen != "" && finish, "--finish is not for a server: stop the server, then run `pate serve --out FOLDER --finish < /dev/null`"),
		shell.If(f.listen != "" && err != nil, "--listen %s: must be HOST:PORT, such as 127.0.0.1:8080", f.listen),
		shell.If((f.cert == "") != (f.key == ""), "give --cert and --cert-key together"),
		shell.If(f.listen != "" && !secured && !loopback(host),
			"--listen %s: other machines can reach this address, so --cert, --cert-key and --tokens are required", f.listen))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Limits of the server. A request that is read too slowly, or exceeds mostRequests, is refused before any
// question is charged.
const (
	mostRequests = 256 // at the same time
	headerTime   = 5 * time.Second
	bodyTime     = 30 * time.Second
	idleTime     = 2 * time.Minute
	stopTime     = 10 * time.Second
)

// door is the HTTP server.
type door struct {
	format   *online.Format
	engine   *online.Engine
	listener net.Listener
	secure   bool
	tokens   map[[sha256.Size]byte]bool // hashes of bearer tokens; nil if none are needed
	log      *os.File                   // access log, or nil
	places   chan struct{}              // one for each request that is served
	refused  [600]atomic.Int64          // by status
	say      func(format string, args ...any)
}

// open must be called before any charge, because its errors report that nothing was charged.
func (f *httpFlags) open(g *shell.Globals) (d *door, err error) {
	d = &door{places: make(chan struct{}, mostRequests), secure: f.cert != "", say: g.Logf}
	wrong := func(flag string, err error) (*door, error) {
		d.close()
		return nil, shell.InputError(fmt.Errorf("--%s: %w", flag, err), "nothing was charged", "correct the flag or the file", "serve")
	}
	if f.tokens != "" {
		text, err := durable.ReadSecret(f.tokens)
		if err != nil {
			return wrong("tokens", err)
		}
		d.tokens = map[[sha256.Size]byte]bool{}
		for _, token := range strings.Fields(string(text)) {
			if len(token) < 16 {
				return wrong("tokens", errors.New("a token has fewer than 16 characters"))
			}
			d.tokens[sha256.Sum256([]byte(token))] = true
		}
		if len(d.tokens) == 0 {
			return wrong("tokens", errors.New("the file has no token"))
		}
	}
	var config *tls.Config
	if d.secure {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return wrong("cert", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}
	}
	if f.log != "" {
		if d.log, err = os.OpenFile(f.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return wrong("access-log", err)
		}
	}
	if d.listener, err = net.Listen("tcp", f.listen); err != nil {
		return wrong("listen", err)
	}
	if config != nil {
		d.listener = tls.NewListener(d.listener, config)
	}
	return d, nil
}

func (d *door) close() {
	if d.listener != nil {
		_ = d.listener.Close()
	}
	if d.log != nil {
		d.log.Close()
	}
}

func (d *door) serve(ctx context.Context, f *online.Format, e *online.Engine) error {
	d.format, d.engine = f, e
	server := &http.Server{Handler: d.handler(), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: bodyTime,
		IdleTimeout: idleTime, MaxHeaderBytes: 1 << 14, ErrorLog: log.New(io.Discard, "", 0)}
	scheme := "http"
	if d.secure {
		scheme = "https"
	}
	d.say("listening on %s://%s", scheme, d.listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(d.listener) }()
	var err error
	select {
	case <-ctx.Done():
	case <-e.Done():
	case err = <-failed:
	}
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if server.Shutdown(brief) != nil {
		_ = server.Close() // requests that are too slow
	}
	return err
}

func (d *door) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if d.admits(w, r) == http.StatusOK {
			d.metrics(w)
		}
	})
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		status, questions := d.answer(w, r)
		if status != http.StatusOK {
			d.refused[status].Add(1)
		}
		if d.log != nil {
			fmt.Fprintf(d.log, "%s %s %s %d %d\n", time.Now().UTC().Format(time.RFC3339), r.RemoteAddr, r.URL.Path, status, questions)
		}
	})
	return mux
}

func refuse(w http.ResponseWriter, status int, why string) int {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"error\":%q}\n", why)
	return status
}

// admits returns http.StatusOK, or refuses the request and returns the status of the refusal. If the server
// has tokens, admits requires one of these bearer tokens. Otherwise it refuses requests that a web page may
// have sent. Such a request has an Origin header, or a host other than loopback.
func (d *door) admits(w http.ResponseWriter, r *http.Request) int {
	if d.tokens != nil {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !d.tokens[sha256.Sum256([]byte(token))] {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return refuse(w, http.StatusUnauthorized, "the request needs a header `Authorization: Bearer TOKEN` with a token of --tokens")
		}
		return http.StatusOK
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	if !loopback(host) || r.Header.Get("Origin") != "" {
		return refuse(w, http.StatusForbidden, "without --tokens, only programs of this machine may ask")
	}
	return http.StatusOK
}

func (d *door) answer(w http.ResponseWriter, r *http.Request) (status, n int) {
	if status := d.admits(w, r); status != http.StatusOK {
		return status, 0
	}
	select {
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	default:
		return refuse(w, http.StatusServiceUnavailable, "too many requests at once; ask again later"), 0
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return refuse(w, http.StatusRequestEntityTooLarge, "the body is longer than 1 MiB"), 0
		}
		return refuse(w, http.StatusBadRequest, "the body could not be read"), 0
	}
	var all []asked
	for line := range bytes.Lines(body) {
		if len(bytes.TrimSpace(line)) > 0 {
			q, err := d.format.Parse(line)
			all = append(all, asked{q, err})
		}
	}
	if len(all) == 0 {
		return refuse(w, http.StatusBadRequest, "the body has no request"), 0
	}
	text, first, err := replies(r.Context(), nil, d.format, d.engine, all)
	switch {
	case errors.Is(err, online.ErrBusy):
		return refuse(w, http.StatusTooManyRequests, err.Error()), len(all)
	case err != nil:
		return refuse(w, http.StatusServiceUnavailable, err.Error()), len(all)
	}
	status, kind := http.StatusOK, "application/x-ndjson"
	if len(all) == 1 {
		kind = "application/json"
		switch {
		case all[0].err != nil:
			status = http.StatusBadRequest
		case errors.Is(first.Err, online.ErrConflict):
			status = http.StatusConflict
		case errors.Is(first.Err, online.ErrExhausted):
			status = http.StatusForbidden
		case first.Err != nil:
			status = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone asks again
	return status, len(all)
}

// metrics writes only public numbers. It writes no times, because times depend on the votes.
func (d *door) metrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	c := d.engine.Counts()
	fmt.Fprintf(w, "# TYPE pate_answers_total counter\n")
	fmt.Fprintf(w, "pate_answers_total{source=\"vote\"} %d\npate_answers_total{source=\"public\"} %d\npate_answers_total{source=\"declined\"} %d\n",
		c.Answers.Voted, c.Answers.Public, c.Answers.Declined)
	fmt.Fprintf(w, "# TYPE pate_repeated_total counter\npate_repeated_total %d\n# TYPE pate_refused_total counter\n", c.Repeated)
	for status := range d.refused {
		if n := d.refused[status].Load(); n > 0 {
			fmt.Fprintf(w, "pate_refused_total{status=\"%d\"} %d\n", status, n)
		}
	}
	if c.Left.Queries != tokens.Unlimited {
		fmt.Fprintf(w, "# TYPE pate_queries_left gauge\npate_queries_left %d\n", c.Left.Queries)
	}
	if d.format.Capped() {
		fmt.Fprintf(w, "# TYPE pate_answers_left gauge\npate_answers_left %d\n", c.Left.Answers)
	}
}
