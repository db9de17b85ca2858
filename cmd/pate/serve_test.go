package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	cryptorand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
)

const serveNew = " --mechanism gnmax --classes a,b,c --sigma 3 --queries 100000 --epsilon 2e4"

// served is a server of this process. Its messages can be read after stop.
type served struct {
	address string
	stop    func() (code int, said string)
}

var listening = regexp.MustCompile(`listening on \w+://(\S+)`)

func serves(t *testing.T, args string) served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var out bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, strings.Fields(args), strings.NewReader(""), io.Discard, io.MultiWriter(&out, w))
		w.Close()
	}()
	lines, s := bufio.NewScanner(r), served{}
	for s.address == "" && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			s.address = found[1]
		}
	}
	go io.Copy(io.Discard, r)
	if s.address == "" {
		cancel()
		require.Fail(t, "no server", "exit code %d: %s", <-code, out.String())
	}
	s.stop = sync.OnceValues(func() (int, string) { cancel(); c := <-code; return c, out.String() })
	t.Cleanup(func() { s.stop() })
	return s
}

func (s served) post(t *testing.T, body string) (status int, text string) {
	t.Helper()
	r, err := http.Post("http://"+s.address+"/answer", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer r.Body.Close()
	return r.StatusCode, string(testkit.Must(io.ReadAll(r.Body)))
}

func (s served) get(t *testing.T, path string) string {
	t.Helper()
	r, err := http.Get("http://" + s.address + path)
	require.NoError(t, err)
	defer r.Body.Close()
	return string(testkit.Must(io.ReadAll(r.Body)))
}

func TestServeOverHTTP(t *testing.T) {
	preparedFolder(t)
	s := serves(t, "serve --out f --listen 127.0.0.1:0 --access-log log"+strings.Replace(serveNew, "100000", "4", 1))
	status, first := s.post(t, `{"query":"x","votes":{"a":90}}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{"query":"x","label":"a","source":"vote","left":{"queries":3}}`+"\n", first)
	for body, want := range map[string]int{
		`{"query":"x","votes":{"a":90}}`:                       http.StatusOK,
		`{"query":"x","votes":{"a":91}}`:                       http.StatusConflict,
		`{"query":"y","votes":{"a":NaN}}`:                      http.StatusBadRequest,
		"{\"query\":\"y\xff\",\"votes\":{}}":                   http.StatusBadRequest,
		`{"query":"y","votes":{},"votes":{}}`:                  http.StatusBadRequest,
		"\n\n":                                                 http.StatusBadRequest,
		`{"query":"y","votes":{"` + strings.Repeat("a", 2<<20): http.StatusRequestEntityTooLarge,
	} {
		status, text := s.post(t, body)
		require.Equal(t, want, status, text)
		require.True(t, json.Valid([]byte(text)), text)
	}
	status, text := s.post(t, `{"query":"x","votes":{"a":90}}`+"\nnot JSON\n"+`{"query":"y","votes":{"b":90}}`+"\n\n"+`{"query":"y","votes":{"b":90}}`)
	require.Equal(t, http.StatusOK, status)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, 4)
	require.Contains(t, lines[1], "error")
	require.Equal(t, `{"query":"y","label":"b","source":"vote","left":{"queries":2}}`, lines[2])
	require.Equal(t, lines[2], lines[3])

	for _, wrong := range []func(r *http.Request){
		func(r *http.Request) { r.Host = "example.com" },
		func(r *http.Request) { r.Header.Set("Origin", "http://example.com") },
	} {
		r := testkit.Must(http.NewRequest("POST", "http://"+s.address+"/answer", strings.NewReader(`{"query":"z","votes":{}}`)))
		wrong(r)
		got := testkit.Must(http.DefaultClient.Do(r))
		got.Body.Close()
		require.Equal(t, http.StatusForbidden, got.StatusCode, "a page of a browser")
	}

	code, said := command(t.Context(), strings.Fields("serve --out f"))
	require.Equal(t, shell.ExitInvalidInput, code, said)
	require.Contains(t, said, "in use by another process")

	s.post(t, `{"query":"u","votes":{"b":90}}`+"\n"+`{"query":"v","votes":{"b":90}}`)
	status, text = s.post(t, `{"query":"w","votes":{"b":90}}`)
	require.Equal(t, http.StatusForbidden, status, text)
	metrics := s.get(t, "/metrics")
	for _, line := range []string{`pate_answers_total{source="vote"} 4`, "pate_queries_left 0", `pate_refused_total{status="409"} 1`, "pate_repeated_total 3"} {
		require.Contains(t, metrics, line+"\n")
	}
	require.Equal(t, "ok\n", s.get(t, "/healthz"))
	code, said = s.stop()
	require.Equal(t, shell.ExitDone, code, said)
	log := string(testkit.Must(os.ReadFile("log")))
	require.Regexp(t, `^(\S+Z 127\.0\.0\.1:\d+ /answer \d{3} \d\n)+$`, log)

	typed(t, shell.ExitDone, "verify", "f")
	typed(t, shell.ExitDone, strings.Fields("serve --out f --finish")...)
	require.Equal(t, "query,label,source\nx,a,vote\ny,b,vote\nu,b,vote\nv,b,vote\n", string(testkit.Must(os.ReadFile("f/public/labels.csv"))))
	typed(t, shell.ExitDone, "verify", "f")
	require.NoFileExists(t, "f/private/journal")
	code, said = command(t.Context(), strings.Fields("serve --out f --listen 127.0.0.1:0"))
	require.Equal(t, shell.ExitDone, code, said)
	require.Contains(t, said, "complete")
}

func TestServeOverTLSNeedsAToken(t *testing.T) {
	preparedFolder(t)
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":                "--tokens are required",
		"--listen :0 --cert c --cert-key k": "--tokens are required",
		"--listen 127.0.0.1:0 --cert c":     "together",
		"--listen here":                     "HOST:PORT",
		"--cert c --cert-key k":             "--listen",
		"--listen 127.0.0.1:0 --finish":     "--finish",
		"r.jsonl --listen 127.0.0.1:0":      "not both",
	} {
		code, said := command(t.Context(), strings.Fields("serve --out f "+args+serveNew))
		require.Equal(t, shell.ExitUsage, code, said)
		require.Contains(t, said, want)
	}
	require.NoFileExists(t, "f")
	cert, key := selfSigned(t)
	require.NoError(t, os.WriteFile("tokens", []byte("a-token-of-length-20\nanother-token-of-25-chars\n"), 0o600))
	s := serves(t, "serve --out f --listen 0.0.0.0:0 --cert "+cert+" --cert-key "+key+" --tokens tokens"+serveNew)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	for token, want := range map[string]int{"": 401, "Bearer a-token": 401, "a-token-of-length-2": 401, "Bearer a-token-of-length-20": 200} {
		for _, path := range []string{"/answer", "/metrics"} {
			method := map[string]string{"/answer": "POST", "/metrics": "GET"}[path]
			r := testkit.Must(http.NewRequest(method, "https://127.0.0.1:"+port+path, strings.NewReader(`{"query":1,"votes":{"a":9}}`)))
			r.Header.Set("Authorization", token)
			got, err := client.Do(r)
			require.NoError(t, err)
			got.Body.Close()
			require.Equal(t, want, got.StatusCode, token)
		}
	}
	_, said := s.stop()
	require.NotContains(t, said, "token-of")
}

// TestServeSurvivesKills: a server is killed under load, again and again, 200 times with -long. Every answer
// that left has its charge, is the answer of the file of labels, and was never another one.
func TestServeSurvivesKills(t *testing.T) {
	kills := 4
	if *long {
		kills = 200
	}
	preparedFolder(t)
	answers := map[string]string{}
	var mu sync.Mutex
	note := func(text string) {
		var a struct {
			Query, Label, Error string
		}
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		if a.Error != "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if before, again := answers[a.Query]; again {
			require.Equal(t, before, a.Label)
		}
		answers[a.Query] = a.Label
	}
	request := func(i int) string { return fmt.Sprintf(`{"query":"q%d","votes":{"a":%d,"b":%d}}`, i, i%4, i%3) }
	random, asked := rand.New(rand.NewPCG(1, 2)), 0
	for n := range kills {
		cmd := exec.Command(os.Args[0], strings.Fields("serve --out f --listen 127.0.0.1:0"+serveNew)...)
		cmd.Args[0] = "pate"
		stderr := testkit.Must(cmd.StderrPipe())
		require.NoError(t, cmd.Start())
		address, said := "", ""
		for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
			said += lines.Text()
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address = found[1]
			}
		}
		require.NotEmpty(t, address, said)
		var clients sync.WaitGroup
		first := asked
		for c := range 8 {
			clients.Go(func() {
				for i := c; ; i += 8 {
					query := first + i
					if i%3 == 2 {
						query /= 2 // asked before
					}
					r, err := http.Post("http://"+address+"/answer", "", strings.NewReader(request(query)))
					if err != nil {
						return
					}
					text, err := io.ReadAll(r.Body)
					r.Body.Close()
					if err != nil {
						return
					}
					note(string(text))
				}
			})
		}
		time.Sleep(time.Duration(20+random.IntN(60)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
		clients.Wait()
		asked += 8 * (n%50 + 1)
		if n%20 == 0 {
			typed(t, shell.ExitDone, "verify", "f")
		}
	}
	require.Greater(t, len(answers), 10*kills)
	typed(t, shell.ExitDone, strings.Fields("serve --out f --finish")...)
	text := string(testkit.Must(os.ReadFile("f/public/labels.csv")))
	for query, label := range answers {
		require.Equal(t, 1, strings.Count(text, "\n"+query+","+label+",vote\n"), query)
	}
	require.LessOrEqual(t, strings.Count(text, "\n"), 100_001)
	t.Logf("%d answers left, %d were charged and written", len(answers), strings.Count(text, "\n")-1)
}

// TestServeSlowAndManyClients: clients that send nothing, or half a request, hold no place, and a stop does
// not wait for them. More requests at once than have a place are refused, and are answered later.
func TestServeSlowAndManyClients(t *testing.T) {
	preparedFolder(t)
	s := serves(t, "serve --out f --listen 127.0.0.1:0"+serveNew)
	for _, begin := range []string{"", "POST /answer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le", "GET /healthz HTTP/1.1\r\n"} {
		for range 20 {
			c := testkit.Must(net.Dial("tcp", s.address))
			defer c.Close()
			fmt.Fprint(c, begin)
		}
	}
	status, _ := s.post(t, `{"query":"x","votes":{"a":90}}`)
	require.Equal(t, http.StatusOK, status)
	var open []net.Conn
	hold := func() { // a request without the end of its body
		c := testkit.Must(net.Dial("tcp", s.address))
		fmt.Fprint(c, "POST /answer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 30\r\n\r\n{")
		open = append(open, c)
	}
	for range 256 {
		hold()
	}
	require.Eventually(t, func() bool {
		status, _ := s.post(t, `{"query":"y","votes":{"a":90}}`)
		if status != 503 { // another request takes the place of this one, or of one that this one kept out
			hold()
		}
		return status == 503
	}, 10*time.Second, 10*time.Millisecond)
	for _, c := range open {
		c.Close()
	}
	require.Eventually(t, func() bool { status, _ := s.post(t, `{"query":"y","votes":{"a":90}}`); return status == 200 },
		10*time.Second, 10*time.Millisecond)
	code, said := s.stop()
	require.Equal(t, shell.ExitDone, code, said)
}

// TestServeShowsNothingButAnswers: on neighbouring votes with equal answers, everything that leaves is equal
// by bytes, also for requests that are refused.
func TestServeShowsNothingButAnswers(t *testing.T) {
	var all []string
	for _, votes := range []string{`"a":900,"b":3`, `"a":899,"b":4`, `"a":899,"b":3`, `"b":3,"a":900,"c":0`, `"a":900,"b":3,"c":1`} {
		preparedFolder(t)
		lines := []string{`{"query":"x","votes":{` + votes + `}}`, `{"query":"x","votes":{` + votes + `,"e":1}}`,
			`{"query":"y","votes":{` + votes + `}}`, `{"query":"x","votes":{}}`, `{"query":"x","votes":{` + votes + `}}`}
		for _, mechanism := range []string{"gnmax --sigma 3", "confident --threshold 400 --sigma1 3 --sigma2 3"} {
			name := strings.Fields(mechanism)[0]
			require.NoError(t, os.WriteFile("r.jsonl", []byte(strings.Join(lines, "\n")), 0o600))
			var out, errs bytes.Buffer
			args := "serve r.jsonl --out " + name + " --mechanism " + mechanism + " --classes a,b,c --queries 50 --epsilon 1e4"
			require.Zero(t, run(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &errs), errs.String())
			s := serves(t, "serve --listen 127.0.0.1:0 --access-log "+name+".log --out "+name)
			said := out.String() + errs.String()
			for _, line := range lines {
				status, text := s.post(t, line)
				said += fmt.Sprint(status, text)
			}
			said += s.get(t, "/metrics") + s.get(t, "/healthz")
			code, messages := s.stop()
			typed(t, shell.ExitDone, strings.Fields("serve --finish --out "+name)...)
			said += fmt.Sprint(code, strings.ReplaceAll(messages, s.address, "")) + regexp.MustCompile(`\S+Z \S+`).ReplaceAllString(string(testkit.Must(os.ReadFile(name+".log"))), "")
			for _, path := range testkit.Must(filepath.Glob(name + "/public/*")) {
				said += path + string(testkit.Must(os.ReadFile(path)))
			}
			all = append(all, said)
		}
	}
	require.Contains(t, all[0], "x,a,vote\n")
	for i := range all {
		require.Equal(t, all[i%2], all[i])
	}
}

func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(cryptorand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	for name, der := range map[string][]byte{
		"CERTIFICATE": testkit.Must(x509.CreateCertificate(cryptorand.Reader, of, of, public, private)),
		"PRIVATE KEY": testkit.Must(x509.MarshalPKCS8PrivateKey(private)),
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: name, Bytes: der})
		require.NoError(t, os.WriteFile(strings.Fields(name)[0]+".pem", text, 0o600))
	}
	return "CERTIFICATE.pem", "PRIVATE.pem"
}
